package redlock

import (
	"testing"
	"time"
)

// votingUpstream is one without a connection that would vote.
func votingUpstream() (*upstream, *wire) {
	u := &upstream{clock: SystemClock(), link: newLink(500), count: make(tallyOfFailures), changed: func() {}}
	w := &wire{facts: &facts{}, generation: u.link.opened(life1, time.Second, time.Second, ends(time.Second))}
	u.wire, u.raw = w, ends(0).record
	u.link.admit(w.generation, 1, "", 0)
	return u, w
}

func TestAnswersToWhatWasSentBeforeTheAdmissionDoNotVote(t *testing.T) {
	for _, voted := range []bool{true, false} {
		u, w := votingUpstream()
		answers := []Answer{{Status: Answered}}
		u.judge(w, []*Call{{}}, voted, answers, []int64{0}, 2*time.Second, 2*time.Second, ends(2*time.Second))
		if answers[0].Votes != voted {
			t.Errorf("voted when it was sent: %v, votes: %v (%s)", voted, answers[0].Votes, answers[0].Reason)
		}
	}
}

// A write of the record may find that there is none any more. What is answered
// before anybody has looked at that must not vote.
func TestRecordThatIsFoundToBeGoneIsNotExpected(t *testing.T) {
	u, w := votingUpstream()
	if err := u.wrote(w, &view{}, []byte("new"), nil, nil); err != nil {
		t.Fatal(err)
	}
	if u.judge(w, nil, true, nil, nil, 2*time.Second, 2*time.Second, shows(2*time.Second, nil)) {
		t.Error("a master without a record votes")
	}
}

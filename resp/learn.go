package resp

import "redlock-proxy/redlock"

// Some commands depend on more than a table can ask for (EXPIRE … GT on the
// remaining time, SET … KEEPTTL on whether there is one). They learn first what
// a quorum holds, then commit: a second swap that expects exactly that value.
// If the key has changed in between, they start over.

// maxCommits bounds how often a command may start over. Each takes up to two
// rounds of the same deadline, so in practice the deadline ends it before.
const maxCommits = 16

const tooManyCommits = "NOQUORUM the key changed again and again while the command was looking at it; nothing was done, try again"

// learned is how far such a command is.
type learned struct {
	commits    int
	committing bool         // the swap now running is a commit
	expects    redlock.Case // its case that writes
	answer     answer       // what to answer then
	token      []byte       // the value it expects
}

// resolve finds the reply for the outcome of the swap that just ran, or fills
// again and returns true.
func (l *Lock) resolve(out *redlock.Outcome, again *redlock.Swap) (answer, bool) {
	k := &l.learned
	if k.committing {
		if out.Case == k.expects {
			return k.answer, false
		}
		k.committing = false
		*again = l.first[0]
		return 0, true
	}
	if l.first[0].Leaf(out.Case).Effect != redlock.Learn {
		return l.answers[out.Case], false
	}
	leaf, a := l.decide(l, out)
	if leaf.Effect == redlock.Keep {
		return a, false
	}
	if k.commits++; k.commits > maxCommits {
		l.fault = tooManyCommits
		return answerFault, false
	}
	l.commit(out, leaf, a, again)
	return 0, true
}

// commit fills again with a swap that applies leaf to exactly the state of out.
func (l *Lock) commit(out *redlock.Outcome, leaf redlock.Leaf, a answer, again *redlock.Swap) {
	look := redlock.Leaf{Effect: redlock.Learn}
	*again = redlock.Swap{Key: l.first[0].Key, Absent: look, Mine: look, Other: look, Wrong: look}
	if out.State.Kind == redlock.Text {
		again.Token, again.HasToken = l.valueOf(0, out), true
	}
	k := &l.learned
	k.committing, k.answer, k.token = true, a, again.Token
	k.expects = again.Case(&redlock.State{Kind: out.State.Kind, Value: again.Token})
	*again.Leaf(k.expects) = leaf
	if l.Kind == KindExtend { // what was decided depends on the remaining time
		again.TTLAtMost = out.State.Longest
	}
}

// token is what the swap that just ran compared with.
func (l *Lock) token(i int) []byte {
	if l.learned.committing {
		return l.learned.token
	}
	return l.Swaps[i].Token
}

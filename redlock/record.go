package redlock

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// record is what each master keeps, as one small string key per database,
// about the quorum it belongs to. All masters of a quorum keep the same one,
// but for Place. Records are only ever replaced by their merger with others,
// so whoever writes in whatever order, they come to agree.
//
// The set of masters changes by one at a time, see change.go. Epoch counts the
// changes; From and Before link the places to those before the last one.
type record struct {
	Quorum    string      `json:"quorum"`
	ID        string      `json:"id"` // of this quorum, since its first start
	Epoch     uint64      `json:"epoch"`
	Change    string      `json:"change,omitempty"`  // which change led to this epoch
	Before    int         `json:"before,omitempty"`  // how many masters there were before it
	From      []int       `json:"from,omitempty"`    // by place: the place before it, from 1; 0 for the one that joined
	After     string      `json:"after,omitempty"`   // which change led to the epoch before
	Decided   bool        `json:"decided,omitempty"` // a majority of the masters from before the change had it once
	Place     int         `json:"place"`             // of this master, from 1
	OpTimeout int64       `json:"op_timeout_ms"`     // the largest of its proxies
	Drift     int64       `json:"drift_ppm"`         // the largest of its proxies
	Masters   []string    `json:"masters"`           // by place: addresses, as one of its proxies has them
	Admitted  []admission `json:"admitted"`          // by place
}

// admission names the life of a master that may vote. Serial grows with each
// change; the zero value is a master that was never admitted.
type admission struct {
	Serial   uint64
	Identity string // empty: none, withdrawn
}

// OwnKeys is how the keys begin that the proxies keep for themselves on the
// masters.
const OwnKeys = "redlock-proxy:{"

// recordKey is where the record of a quorum is kept.
func recordKey(quorum string) string { return ownKey(quorum, "record") }

// horizonKey lives as long as any lock may, see horizon.go.
func horizonKey(quorum string) string { return ownKey(quorum, "horizon") }

func ownKey(quorum, name string) string { return OwnKeys + quorum + "}:" + name }

// String is the identity as records spell it. Half of each random id is enough
// to tell lives apart, and every batch reads the record.
func (id identity) String() string {
	return id.run[:min(len(id.run), 16)] + "/" + id.replication[:min(len(id.replication), 16)]
}

// MarshalText spells an admission as "serial identity".
func (a admission) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%d %s", a.Serial, a.Identity), nil
}

// UnmarshalText is the opposite of MarshalText.
func (a *admission) UnmarshalText(text []byte) (err error) {
	serial, id, ok := strings.Cut(string(text), " ")
	if !ok {
		return errors.New("admission without an identity")
	}
	a.Identity = id
	a.Serial, err = strconv.ParseUint(serial, 10, 64)
	return err
}

// newer is the later of two admissions of one master. Two proxies may have
// written the same serial at once: then what ends a vote counts, and else any
// rule will do that all proxies follow.
func (a admission) newer(b admission) admission {
	switch {
	case a.Serial != b.Serial:
		if a.Serial > b.Serial {
			return a
		}
		return b
	case a.isLife() != b.isLife():
		if b.isLife() {
			return a
		}
		return b
	case a.Identity == "", b.Identity != "" && a.Identity > b.Identity:
		return a
	}
	return b
}

// leaving is the Identity of an admission whose master is about to leave the
// quorum: it has no vote, and is not given one again.
const leaving = "leaving"

// claims begins the Identity of an admission that names a life which is to get
// the place of another one, when it has the locks: nobody has the vote of that
// place until then.
const claims = "restoring "

func claimFor(id identity) string { return claims + id.String() }

// isLife reports whether the admission is of a master that votes.
func (a admission) isLife() bool {
	return a.Identity != "" && a.Identity != leaving && !a.isClaim()
}

func (a admission) isClaim() bool { return strings.HasPrefix(a.Identity, claims) }

// deposes reports whether the record takes the vote from the master at a place
// that has it by the admissions known before. Where servers have changed places,
// the one that lost its place can not be told, and whoever still reaches it has
// to learn it from the others.
func (r *record) deposes(known []admission, place int) bool {
	was, is := known[place], r.Admitted[place]
	return was.isLife() && is.Identity != was.Identity && was.newer(is) == is
}

// merge takes over what b has newer. Of a record from before the last change
// of the set it takes what is said of those that stayed.
func (r *record) merge(b *record) {
	r.OpTimeout, r.Drift = max(r.OpTimeout, b.OpTimeout), max(r.Drift, b.Drift)
	for i := range r.Admitted {
		place := i
		if !r.sameSet(b) {
			place = r.From[i] - 1
		}
		if place >= 0 && place < len(b.Admitted) {
			r.Admitted[i] = r.Admitted[i].newer(b.Admitted[place])
		}
	}
}

// sameSet reports whether both records speak of the same set of masters.
func (r *record) sameSet(b *record) bool {
	return r.ID == b.ID && r.Epoch == b.Epoch && r.Change == b.Change && len(r.Admitted) == len(b.Admitted)
}

// setName names the set of masters that the record speaks of.
func (r *record) setName() string { return fmt.Sprint(r.ID, "/", r.Epoch, "/", r.Change) }

// follows reports whether b is a record of the set before the last change.
func (r *record) follows(b *record) bool {
	return r.ID == b.ID && r.Epoch == b.Epoch+1 && r.After == b.Change && r.Before == len(b.Admitted) && len(r.From) == len(r.Admitted)
}

// outlives reports whether b is of a set that is over: a majority has had the
// change to this one. Who has missed it since then has no quorum any more, but
// with a master that lost its record it could pass for one.
func (r *record) outlives(b *record) bool {
	return r != nil && r.Decided && r.ID == b.ID && r.Epoch > b.Epoch
}

// at is the record as the master at place (from 0) keeps it.
func (r *record) at(place int) []byte {
	own := *r
	own.Place = place + 1
	text, err := json.Marshal(own)
	if err != nil {
		panic(err) // strings and integers only
	}
	return text
}

// parseRecord reads the record found on a master of a quorum. The error tells
// an operator why it is not ours.
func parseRecord(text []byte, quorum string) (*record, error) {
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("its key %q is not a record of a quorum", recordKey(quorum))
	}
	switch {
	case r.Quorum != quorum:
		return nil, fmt.Errorf("it belongs to the quorum %q", r.Quorum)
	case r.Place < 1 || r.Place > len(r.Admitted) || len(r.Admitted) > maxMasters:
		return nil, fmt.Errorf("its key %q is not a record of a quorum", recordKey(quorum))
	}
	return &r, nil
}

// own is what a record says of the master that keeps it.
func (r *record) own() admission { return r.Admitted[r.Place-1] }

// maxMasters is how many masters a quorum may have.
const maxMasters = 64

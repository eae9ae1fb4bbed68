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
type record struct {
	Quorum    string      `json:"quorum"`
	Place     int         `json:"place"` // of this master, from 1
	OpTimeout int64       `json:"op_timeout_ms"`
	Admitted  []admission `json:"admitted"` // by place
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
// written the same serial at once: then a withdrawal counts, and else any rule
// will do that all proxies follow.
func (a admission) newer(b admission) admission {
	switch {
	case a.Serial != b.Serial && a.Serial > b.Serial, a.Serial == b.Serial && a.Identity == "":
		return a
	case a.Serial != b.Serial, b.Identity == "", b.Identity > a.Identity:
		return b
	}
	return a
}

// merge takes over what b has newer.
func (r *record) merge(b *record) {
	r.OpTimeout = max(r.OpTimeout, b.OpTimeout)
	for i := range r.Admitted {
		r.Admitted[i] = r.Admitted[i].newer(b.Admitted[i])
	}
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

// parseRecord reads the record found on the master at place (from 0) of a
// quorum. The error tells an operator why it is not ours.
func parseRecord(text []byte, quorum string, size, place int) (*record, error) {
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("its key %q is not a record of a quorum", recordKey(quorum))
	}
	switch {
	case r.Quorum != quorum:
		return nil, fmt.Errorf("it belongs to the quorum %q", r.Quorum)
	case len(r.Admitted) != size:
		return nil, fmt.Errorf("it belongs to a quorum of %d masters, this proxy knows %d", len(r.Admitted), size)
	case r.Place != place+1:
		return nil, fmt.Errorf("it is master number %d of its quorum, this proxy has it as number %d: list the masters in the same order everywhere", r.Place, place+1)
	}
	return &r, nil
}

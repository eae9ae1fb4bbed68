package redlock

import (
	"slices"
	"time"
)

// seats are the masters that decide: who sits at which place of the quorum. A
// round keeps the seats it began with; once they have changed it gets no more
// votes, because a majority of one set is none of another.
type seats struct {
	masters []int         // by place, among the masters of this proxy; nobody for one it does not know
	names   []string      // by place
	set     string        // which set it is, see record.setName
	need    int           // the quorum
	since   time.Duration // Clock time; 0: from the beginning
}

// nobody sits where a member of the quorum is not among this proxy's masters.
const nobody = -1

const (
	reasonUnknownMember = "it is a member of the quorum, but not among this proxy's --masters"
	reasonReseated      = "the set of masters has changed"
)

// isMoving reports whether an answer is no vote for a reason that is over in a
// moment.
func isMoving(reason string) bool {
	return reason == reasonRecordChanged || reason == reasonReseated || reason == reasonUndecided
}

func newSeats(masters []int, names []string, set string) *seats {
	return &seats{masters: masters, names: names, set: set, need: len(masters)/2 + 1}
}

// seatAll seats all masters in their order.
func seatAll(all []Master) *seats {
	masters, names := make([]int, len(all)), make([]string, len(all))
	for i, m := range all {
		masters[i], names[i] = i, m.Name()
	}
	return newSeats(masters, names, "")
}

func (s *seats) equal(o *seats) bool {
	return s.set == o.set && slices.Equal(s.masters, o.masters) && slices.Equal(s.names, o.names)
}

// hold reports whether a round with these seats still gets votes while the
// present ones are in force. What began before any record was read does if it
// was right about who decides; what began when it was not known who sits at some
// place of the same set does, too, from those at the others.
func (s *seats) hold(present *seats) bool {
	switch {
	case s == present:
		return true
	case len(s.masters) != len(present.masters):
		return false
	case s.set == "":
		return !slices.ContainsFunc(s.masters, func(m int) bool { return !slices.Contains(present.masters, m) })
	}
	for place, m := range s.masters {
		if m != nobody && m != present.masters[place] {
			return false
		}
	}
	return s.set == present.set
}

// reseat changes who decides. What was sent before gets no more votes.
func (q *Quorum) reseat(s *seats) {
	s.since = q.clock.Now()
	q.seats.Store(s)
}

// at is the master at a place, or nil.
func (q *Quorum) at(s *seats, place int) Master {
	if s.masters[place] == nobody {
		return nil
	}
	return q.masters[s.masters[place]]
}

// send queues a call at the master of a place.
func (q *Quorum) send(s *seats, place int, c *Call) bool {
	m := q.at(s, place)
	return m != nil && m.Send(c)
}

// down is why the master at a place does not vote; empty if it does.
func (q *Quorum) down(s *seats, place int) string {
	if m := q.at(s, place); m != nil {
		return m.Down()
	}
	return reasonUnknownMember
}

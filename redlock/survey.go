package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// An operator who looks at the locks wants to see more than a quorum's word:
// copies on a minority too, and which master lacks one. A survey reads each
// master over a connection of its own, in two steps: the first names in
// alphabetical order, so that all masters are asked for the same ones, and then
// their values and remaining times. What it takes to remember is bounded by the
// number of locks that are asked for, however many there are.

// surveyTimeout is longer than that of KEYS: a survey lets others go first.
const surveyTimeout = 15 * time.Second

// SurveyLimit is the largest number of locks that one survey shows.
const SurveyLimit = 10_000

// Survey is what the masters hold in one database, as [Cluster.Survey] saw it.
type Survey struct {
	Locks []SurveyedLock // by key
	More  bool           // there are more that match
	// Masters is their number, Need the quorum, and Answered how many of them
	// were read.
	Masters, Need, Answered int
	// Voting says that those that were read vote. Without a quorum of such, all
	// are read that can be, and no lock counts as held by a majority.
	Voting  bool
	Missing []string // each master that was not read, and why
}

// SurveyedLock is one key.
type SurveyedLock struct {
	Key string
	// Token is the mark of the value that most masters hold. Values is how many
	// different ones there are.
	Token  uint64
	Values int
	// Copies is how many masters hold that value.
	Copies int
	Agreed Agreement
	// TTL is the remaining time: of a lock that a majority holds as its client
	// sees it, otherwise that of the copy that lives longest. It is negative if
	// there is no expiry.
	TTL time.Duration
	// NoString says that the key holds a list, a hash or the like, which is no lock.
	NoString bool
}

// Agreement is whether a majority of the masters holds the same value.
type Agreement uint8

// The agreements.
const (
	Majority  Agreement = iota // it does
	Undecided                  // it may, together with masters that did not answer, or do not vote
	Minority                   // it cannot: a failed attempt, or one on its way, or what is left of a lock
)

// copied is one key as one master holds it.
type copied struct {
	kind Kind
	mark uint64 // of the value
	ttl  int64  // remaining milliseconds, or NoTTL
}

// surveyed is what a survey needs of a master. votes says that it has to vote,
// from before to after what is read.
type surveyed interface {
	// first returns the first n of the master's keys that match, by name, and
	// whether there are more. It ends with ctx.
	first(ctx context.Context, votes bool, f KeyFilter, n int) (keys []string, more bool, err error)
	// copies returns what the master holds at each key.
	copies(ctx context.Context, votes bool, keys []string, mark func(value []byte) uint64) ([]copied, error)
}

// Survey reads what the masters hold in a database: the first limit keys that
// match, at most [SurveyLimit], or the first of some if there are very many;
// those of the proxies are left out. mark tells
// values apart, which themselves are not kept; it is called from several
// goroutines.
//
// The masters are read one moment after the other, so a lock that changes hands
// meanwhile may be shown with less copies than it had at any time. A master that
// takes more than twice as long as a quorum is left out. Masters that do not vote
// are not read, unless there is no quorum of those that do. The error says that
// none was read, or that the filter is too long.
func (c *Cluster) Survey(ctx context.Context, db int, f KeyFilter, limit int, mark func(value []byte) uint64) (Survey, error) {
	if len(f.Pattern) > maxPattern {
		return Survey{}, errPattern
	}
	d, err := c.database(db)
	if err != nil {
		return Survey{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, surveyTimeout)
	defer cancel()
	select {
	case c.listing <- struct{}{}:
		defer func() { <-c.listing }()
	case <-ctx.Done():
		return Survey{}, errListing
	}
	s := newSurveyor(d, f, min(max(limit, 1), SurveyLimit), mark)
	result, err := s.look(ctx, true)
	if result.Answered < result.Need {
		s = newSurveyor(d, f, s.limit, mark)
		result, err = s.look(ctx, false)
	}
	return result, err
}

// surveyor makes one survey.
type surveyor struct {
	filter  KeyFilter
	limit   int
	mark    func(value []byte) uint64
	masters []reporter // by place, nil for one that this proxy does not know
	places  []string   // their names
	need    int
	pad     padding
	decided bool // only masters that vote are read

	mu  sync.Mutex
	why []error // by place, why it was not read
}

func newSurveyor(d *database, f KeyFilter, limit int, mark func([]byte) uint64) *surveyor {
	seats := d.quorum.seats.Load()
	s := &surveyor{filter: f, limit: limit, mark: mark, places: seats.names, need: seats.need, pad: d.quorum.pad}
	s.why = make([]error, len(seats.masters))
	for place, k := range seats.masters {
		if k == nobody {
			s.masters, s.why[place] = append(s.masters, nil), errors.New(reasonUnknownMember)
			continue
		}
		s.masters = append(s.masters, d.masters[k])
	}
	return s
}

// look reads the masters, those that vote or all, and says what they hold.
func (s *surveyor) look(ctx context.Context, votes bool) (Survey, error) {
	s.decided = votes
	keys, more := s.names(ctx)
	copies := ask(ctx, s, func(ctx context.Context, m reporter) ([]copied, error) {
		return m.copies(ctx, votes, keys, s.mark)
	})
	missing := s.missing()
	result := Survey{More: more, Masters: len(s.why), Need: s.need, Answered: len(s.why) - len(missing), Voting: votes, Missing: missing}
	if result.Answered == 0 {
		return result, s.failure(missing)
	}
	for i, key := range keys {
		if l, held := s.judge(key, column(copies, i), len(missing)); held {
			result.Locks = append(result.Locks, l)
		}
	}
	return result, nil
}

// names returns the first names of all masters together.
func (s *surveyor) names(ctx context.Context) (keys []string, more bool) {
	type page struct {
		keys []string
		more bool
	}
	for _, p := range ask(ctx, s, func(ctx context.Context, m reporter) (page, error) {
		keys, more, err := m.first(ctx, s.decided, s.filter, s.limit)
		return page{keys, more}, err
	}) {
		keys, more = append(keys, p.keys...), more || p.more
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	if len(keys) > s.limit {
		keys, more = keys[:s.limit], true
	}
	return keys, more
}

// ask asks all masters that can be read, and returns what they say. When a
// quorum has answered the others have as long again, and a little more.
func ask[T any](ctx context.Context, s *surveyor, question func(context.Context, reporter) (T, error)) (all []T) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	var asking sync.WaitGroup
	for place, m := range s.masters {
		if s.why[place] != nil {
			continue
		}
		asking.Go(func() {
			answer, err := question(ctx, m)
			s.mu.Lock()
			defer s.mu.Unlock()
			switch {
			case ctx.Err() != nil:
				s.why[place] = errors.New("no answer in time")
			case err != nil:
				s.why[place] = err
			default:
				if all = append(all, answer); len(all) == s.need {
					time.AfterFunc(time.Since(began)+surveyPatience, cancel)
				}
			}
		})
	}
	asking.Wait()
	return all
}

// surveyPatience is how long a master may take more than twice the time of a
// quorum.
const surveyPatience = 100 * time.Millisecond

// missing names the masters that were not read.
func (s *surveyor) missing() (all []string) {
	for place, err := range s.why {
		if err != nil {
			all = append(all, s.places[place]+": "+err.Error())
		}
	}
	return all
}

func (s *surveyor) failure(missing []string) error {
	text := fmt.Sprintf("none of %d masters could be read", len(missing))
	for _, m := range missing {
		text += "; " + m
	}
	return errors.New(text)
}

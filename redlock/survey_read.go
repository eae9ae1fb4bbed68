package redlock

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of what one command of a survey asks of a master.
const (
	surveyBatch = 100
	// surveyBytes of each value are read: longer ones that begin alike pass for
	// the same.
	surveyBytes = 64 << 10
)

// survey reads from a master, with or without regard to whether it votes.
func (u *upstream) survey(ctx context.Context, votes bool, read func(*lister) error) error {
	if votes {
		return u.visit(ctx, read)
	}
	return u.peek(ctx, "", read)
}

func (u *upstream) first(ctx context.Context, votes bool, f KeyFilter, n int) (keys []string, more bool, err error) {
	err = u.survey(ctx, votes, func(s *lister) error {
		names := firstNames{limit: n}
		s.gentle = true
		err := s.all(f, names.take)
		keys, more = names.end()
		return ignoreEnough(err)
	})
	return keys, more, err
}

func (u *upstream) copies(ctx context.Context, votes bool, keys []string, mark func([]byte) uint64) (all []copied, err error) {
	all = make([]copied, 0, len(keys))
	err = u.survey(ctx, votes, func(s *lister) error {
		for batch := range slices.Chunk(keys, surveyBatch) {
			s.conn.SetDeadline(time.Now().Add(answerTimeout))
			if err := s.copies(batch, mark, &all); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// copies appends what the server holds at each key.
func (s *lister) copies(keys []string, mark func([]byte) uint64, all *[]copied) error {
	commands := make([][]string, 0, 2*len(keys))
	for _, key := range keys {
		commands = append(commands, []string{"GETRANGE", key, "0", strconv.Itoa(surveyBytes - 1)}, []string{"PTTL", key})
	}
	replies, err := s.do(commands...)
	if err != nil {
		return err
	}
	for i := range keys {
		c, err := copyOf(replies[2*i], replies[2*i+1], mark)
		if err != nil {
			return err
		}
		*all = append(*all, c)
	}
	return nil
}

// copyOf reads the replies of GETRANGE and PTTL. That of an absent key is empty,
// but its remaining time tells; a key that expires between the two is absent.
func copyOf(value, ttl reply, mark func([]byte) uint64) (c copied, err error) {
	switch {
	case ttl.isError():
		return c, errors.New(ttl.text)
	case value.isError() && !strings.HasPrefix(value.text, "WRONGTYPE"):
		return c, errors.New(value.text)
	}
	if c.ttl, err = strconv.ParseInt(ttl.text, 10, 64); err != nil {
		return c, errMalformed
	}
	switch {
	case c.ttl < NoTTL:
		return copied{}, nil
	case value.isError():
		c.kind = WrongType
	default:
		c.kind, c.mark = Text, mark([]byte(value.text))
	}
	return c, nil
}

// firstNames keeps the first of some names, in alphabetical order, each once. Of
// very many it takes those that come first for the master, which are the same
// ones every time.
type firstNames struct {
	limit int
	names []string
	taken int
	size  int // their bytes
	more  bool
}

// surveyNames is how many names of a master are looked at: reading all of a
// million takes seconds of a processor.
const surveyNames = 2 * SurveyLimit

// errEnough ends the reading of names. It is no fault.
var errEnough = errors.New("enough names")

func ignoreEnough(err error) error {
	if err == errEnough {
		return nil
	}
	return err
}

func (f *firstNames) take(name string) error {
	if f.taken++; f.taken > surveyNames {
		f.more = true
		return errEnough
	}
	f.names = append(f.names, name)
	f.size += len(name)
	if len(f.names) < 2*f.limit+surveyBatch && f.size <= maxKeysSize {
		return nil
	}
	if f.cut(); f.size > maxKeysSize {
		return ErrTooManyKeys
	}
	return nil
}

// cut lets go of all but the first.
func (f *firstNames) cut() {
	slices.Sort(f.names)
	f.names = slices.Compact(f.names)
	if len(f.names) > f.limit {
		f.names, f.more = f.names[:f.limit], true
	}
	f.size = 0
	for _, name := range f.names {
		f.size += len(name)
	}
}

func (f *firstNames) end() (names []string, more bool) {
	f.cut()
	return f.names, f.more
}

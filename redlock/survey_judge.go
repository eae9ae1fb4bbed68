package redlock

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// column is what the masters hold at the key of this index.
func column(copies [][]copied, i int) (all []copied) {
	for _, master := range copies {
		if master[i].kind != Absent {
			all = append(all, master[i])
		}
	}
	return all
}

// judge says what the copies of one key come to, with so many masters that were
// not read; held is false if there are none any more.
func (s *surveyor) judge(key string, copies []copied, unread int) (l SurveyedLock, held bool) {
	if len(copies) == 0 {
		return l, false
	}
	best, ttls, values := mostHeld(copies)
	l = SurveyedLock{Key: key, Token: best.mark, NoString: best.kind == WrongType, Values: values, Copies: len(ttls), Agreed: Minority}
	remaining := ttls[0]
	switch {
	case l.Copies >= s.need && s.decided:
		l.Agreed, remaining = Majority, ttls[s.need-1]
		if remaining != math.MaxInt64 {
			remaining = s.pad.unpad(remaining)
		}
	case l.Copies+unread >= s.need:
		l.Agreed = Undecided
	}
	l.TTL = -1
	if remaining != math.MaxInt64 {
		l.TTL = time.Duration(min(remaining, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	}
	return l, true
}

// mostHeld finds the value with the most copies, among equals the one that lives
// longest. It returns the remaining times of these copies, the longest first, with
// MaxInt64 for no expiry, and how many values there are.
func mostHeld(copies []copied) (best copied, ttls []int64, values int) {
	type value struct {
		kind Kind
		mark uint64
	}
	by := make(map[value][]int64)
	for _, c := range copies {
		if c.ttl == NoTTL {
			c.ttl = math.MaxInt64
		}
		v := value{c.kind, c.mark}
		by[v] = append(by[v], c.ttl)
	}
	for v, its := range by {
		slices.SortFunc(its, func(a, b int64) int { return cmp.Compare(b, a) })
		if more := len(its) - len(ttls); more > 0 || more == 0 && its[0] > ttls[0] {
			best, ttls = copied{kind: v.kind, mark: v.mark}, its
		}
	}
	return best, ttls, len(by)
}

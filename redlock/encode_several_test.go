package redlock

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// TestServerAndStoreAgreeOnRandomTablesOfSeveralKeys applies the same tables to
// a real server and to the store.
func TestServerAndStoreAgreeOnRandomTablesOfSeveralKeys(t *testing.T) {
	c := startServer(t).client()
	for name, d := range dialects(t, c) {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(3, 4))
			cases := map[Case]int{}
			for i := range 3000 {
				table := randomSeveral(rnd)
				s := newStore()
				for k := range table.keys() {
					prepareKey(t, c, s, rnd, string(table.key(k)))
				}
				expectSome(rnd, s, table)
				call := &Call{Table: table}
				want := s.apply(0, table, Window{})
				got, ttl := exchange(t, c, d, call)
				if diff := differSeveral(got, ttl, want); diff != "" {
					t.Fatalf("call %d %+v: %s\n got %+v\nwant %+v", i, table, diff, got, want)
				}
				for k := range table.keys() {
					compareKey(t, c, s, string(table.key(k)))
				}
				cases[caseOf(table, want)]++
			}
			if len(cases) != 3 || cases[CaseMine] < 300 {
				t.Errorf("cases seen: %v", cases)
			}
		})
	}
}

func caseOf(s *Swap, v verdict) Case {
	var and []State
	for _, h := range v.and {
		and = append(and, h.Before)
	}
	return s.CaseOf(&v.before, and)
}

func randomSeveral(rnd *rand.Rand) *Swap {
	one := func() *Swap { return randomCall(rnd).Table }
	s := one()
	s.Other, s.Wrong = Leaf{Effect: Learn}, Leaf{Effect: Learn}
	for i := range 1 + rnd.IntN(4) {
		p := one()
		s.And = append(s.And, Part{Key: fmt.Appendf(nil, "part %d\r\n", i), Token: p.Token, HasToken: p.HasToken,
			TTLAtMost: p.TTLAtMost, Absent: p.Absent, Mine: p.Mine})
	}
	return s
}

// expectSome makes what is there often what is expected; and sometimes nothing
// is there.
func expectSome(rnd *rand.Rand, s *store, table *Swap) {
	if rnd.IntN(3) == 0 {
		return
	}
	expect := func(key []byte, token *[]byte, has *bool, atMost *int64) {
		e, exists := s.find(0, key)
		*has = exists && e.kind == Text
		if *has {
			*token = e.value
		}
		if rnd.IntN(4) > 0 {
			*atMost = 0
		}
	}
	expect(table.Key, &table.Token, &table.HasToken, &table.TTLAtMost)
	for i := range table.And {
		p := &table.And[i]
		expect(p.Key, &p.Token, &p.HasToken, &p.TTLAtMost)
	}
}

func differSeveral(got Answer, ttl int64, want verdict) string {
	switch {
	case got.Status != Answered:
		return "status " + got.Reason
	case got.Mine != want.mine:
		return "mine"
	case got.Applied != want.applied:
		return "applied"
	case !near(ttl, min(want.expiry, maxTTL)):
		return fmt.Sprintf("given TTL %d", ttl)
	case len(got.And) != len(want.and):
		return "number of keys"
	}
	if diff := differState(got.Before, want.before); diff != "" {
		return diff
	}
	for k := range got.And {
		if diff := differState(got.And[k].Before, want.and[k].Before); diff != "" {
			return fmt.Sprintf("key %d: %s", k+1, diff)
		}
		if !near(got.And[k].Given, min(want.and[k].Expiry.To, maxTTL)) {
			return fmt.Sprintf("key %d: given TTL %d", k+1, got.And[k].Given)
		}
	}
	return ""
}

func differState(got, want State) string {
	switch {
	case got.Kind != want.Kind:
		return "kind"
	case !bytes.Equal(got.Value, want.Value):
		return "value"
	case !near(got.TTL, want.TTL):
		return "TTL"
	}
	return ""
}

func TestSeveralKeysAreNotChangedAfterTheDeadline(t *testing.T) {
	c := startServer(t).client()
	for name, d := range dialects(t, c) {
		do(t, c, "MSET", "a", "t", "b", "t")
		now := time.Duration(time.Now().UnixMicro()) * time.Microsecond
		e := encoder{offset: clockOffset{known: true, lo: now, hi: now}}
		run := func(deadline time.Duration) Answer {
			e.builder = c.B()
			s := releaseBoth()
			call := &Call{Table: &s, Deadline: deadline}
			r := c.Do(t.Context(), e.encode(call, d))
			a, _ := decode(call, d, &r)
			return a
		}
		if a := run(-time.Second); a.Status != Failed || a.Reason != ReasonTooLate {
			t.Errorf("%s: late: %+v", name, a)
		}
		if a := run(time.Minute); !a.Applied || !a.Mine {
			t.Errorf("%s: in time: %+v", name, a)
		}
	}
}

func TestSeveralKeysOfWhichOneMayNotBeTouchedAreLeftAlone(t *testing.T) {
	s := startServer(t)
	admin := s.client()
	do(t, admin, "ACL", "SETUSER", "limited", "on", ">pw", "+@all", "~a")
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.addr}, Username: "limited", Password: "pw",
		ForceSingleClient: true, DisableCache: true, AlwaysRESP2: true, DisableRetry: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	swap := acquireBoth("t")
	a, _ := exchange(t, c, dialects(t, admin)["Redis 7"], &Call{Table: &swap})
	if a.Status != Failed || a.Reason != "NOPERM" {
		t.Errorf("got %+v", a)
	}
	if n, _ := do(t, admin, "EXISTS", "a", "b").AsInt64(); n != 0 {
		t.Errorf("%d keys were created", n)
	}
}

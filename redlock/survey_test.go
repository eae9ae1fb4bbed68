package redlock

import (
	"fmt"
	"hash/maphash"
	"strings"
	"syscall"
	"testing"
	"time"
)

var surveySeed = maphash.MakeSeed()

func markOf(value []byte) uint64 { return maphash.Bytes(surveySeed, value) }

// survey is what Cluster.Survey sees in database 0, a word per lock.
func survey(t *testing.T, c *Cluster, f KeyFilter, limit int) (string, Survey) {
	t.Helper()
	s, err := c.Survey(t.Context(), 0, f, limit, markOf)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, l := range s.Locks {
		words = append(words, fmt.Sprintf("%s=%d%s", l.Key, l.Copies, [...]string{"", "?", "-"}[l.Agreed]))
	}
	return strings.Join(words, " "), s
}

func TestSurveyShowsCopiesOfMajoritiesAndOthers(t *testing.T) {
	s := startServers(t, 3)
	c := openCluster(t, s...)
	awaitVoters(t, c, "123", "")
	if out := decideOn(t, c, lockSwap("granted", "token")); !out.Applied {
		t.Fatalf("acquire: %+v", out)
	}
	for i, server := range s {
		server.must(fmt.Sprintf("SET split v%d PX 60000", i))
		server.must("RPUSH list x")
	}
	s[0].must("SET two v PX 60000")
	s[1].must("SET two v PX 50000")
	s[2].must("SET one v")
	got, all := survey(t, c, KeyFilter{}, 100)
	if want := "granted=3 list=3 one=1- split=1- two=2"; got != want {
		t.Fatalf("%q, want %q", got, want)
	}
	if all.Masters != 3 || all.Need != 2 || all.Answered != 3 || all.Missing != nil || all.More {
		t.Errorf("%+v", all)
	}
	granted, list, one, split, two := all.Locks[0], all.Locks[1], all.Locks[2], all.Locks[3], all.Locks[4]
	if granted.Token != markOf([]byte("token")) || granted.Values != 1 || granted.TTL > 30*time.Second || granted.TTL < 25*time.Second {
		t.Errorf("a granted lock: %+v", granted)
	}
	if !list.NoString || list.TTL != -1 {
		t.Errorf("a list: %+v", list)
	}
	if one.TTL != -1 || one.Values != 1 || split.Values != 3 {
		t.Errorf("one copy %+v, three values %+v", one, split)
	}
	if two.TTL > 50*time.Second || two.TTL < 40*time.Second {
		t.Errorf("a majority has it for 50 seconds at most: %+v", two)
	}
}

func TestSurveyOfFewShowsTheFirst(t *testing.T) {
	s := startServers(t, 3)
	c := openCluster(t, s...)
	awaitVoters(t, c, "123", "")
	for i, server := range s {
		server.must(`EVAL "for i = 1, 5000 do redis.call('SET', 'k' .. i, 1, 'EX', 60) end" 0`)
		server.must(fmt.Sprintf("SET k0%d v PX 60000", i))
	}
	if got, all := survey(t, c, KeyFilter{}, 4); got != "k00=1- k01=1- k02=1- k1=3" || !all.More {
		t.Errorf("the first four: %q, more %v", got, all.More)
	}
	if got, all := survey(t, c, KeyFilter{Pattern: []byte("k499?")}, 100); got != "k4990=3 k4991=3 k4992=3 k4993=3 k4994=3 k4995=3 k4996=3 k4997=3 k4998=3 k4999=3" || all.More {
		t.Errorf("those that match: %q, more %v", got, all.More)
	}
	if _, all := survey(t, c, KeyFilter{}, 3*SurveyLimit); len(all.Locks) != 5003 || all.More {
		t.Errorf("%d locks, more %v", len(all.Locks), all.More)
	}
	for _, server := range s {
		server.must(fmt.Sprintf(`EVAL "for i = 1, %d do redis.call('SET', 'x' .. i, 1, 'EX', 60) end" 0`, 2*surveyNames))
	}
	for range 2 {
		if _, all := survey(t, c, KeyFilter{}, 10); len(all.Locks) != 10 || !all.More || all.Locks[9].Copies != 3 {
			t.Errorf("of very many: %+v", all)
		}
	}
}

func TestSurveyOfFewerMasters(t *testing.T) {
	s := startServers(t, 3)
	c := openCluster(t, s...)
	awaitVoters(t, c, "123", "")
	for _, server := range s {
		server.must("SET all v PX 60000")
	}
	s[0].must("SET maybe v PX 60000")
	s[1].signal(syscall.SIGSTOP)
	began := time.Now()
	got, all := survey(t, c, KeyFilter{}, 100)
	s[1].signal(syscall.SIGCONT)
	if took := time.Since(began); took > time.Second {
		t.Errorf("a frozen master held it up for %v", took)
	}
	if got != "all=2 maybe=1?" || all.Answered != 2 || len(all.Missing) != 1 || !strings.HasPrefix(all.Missing[0], s[1].addr+": ") {
		t.Errorf("%q, %d answered, missing %q", got, all.Answered, all.Missing)
	}
	s[0].kill()
	s[1].kill()
	awaitVoters(t, c, "", "refused")
	if got, all := survey(t, c, KeyFilter{}, 100); got != "all=1?" || all.Voting || len(all.Missing) != 2 {
		t.Errorf("with one master: %q, voting %v, missing %q", got, all.Voting, all.Missing)
	}
	s[2].kill()
	if _, err := c.Survey(t.Context(), 0, KeyFilter{}, 100, markOf); err == nil || !strings.HasPrefix(err.Error(), "none of 3 masters could be read; ") || !strings.Contains(err.Error(), s[0].addr+": dial tcp") {
		t.Errorf("without masters: %v", err)
	}
}

func TestSurveyOfEmbeddedMasters(t *testing.T) {
	c := openCluster(t)
	for _, key := range []string{"b", "a"} {
		if out := decideOn(t, c, lockSwap(key, "token")); !out.Applied {
			t.Fatalf("acquire: %+v", out)
		}
	}
	// A lock is granted by a majority; the others follow at once.
	await(t, "five copies of each", func() bool {
		got, _ := survey(t, c, KeyFilter{}, 100)
		return got == "a=5 b=5"
	})
	if got, all := survey(t, c, KeyFilter{}, 1); got != "a=5" || !all.More {
		t.Errorf("%q, more %v", got, all.More)
	}
	if got, _ := survey(t, c, KeyFilter{Pattern: []byte("x*")}, 1); got != "" {
		t.Errorf("%q", got)
	}
}

func TestSurveyComparesTheBeginningOfLongValues(t *testing.T) {
	s := startServers(t, 3)
	c := openCluster(t, s...)
	awaitVoters(t, c, "123", "")
	for _, server := range s {
		server.must(`EVAL "redis.call('SET', 'long', string.rep('x', 3000000), 'EX', 60)" 0`)
		server.must("SET empty \"\" EX 60")
	}
	if got, _ := survey(t, c, KeyFilter{}, 100); got != "empty=3 long=3" {
		t.Errorf("%q", got)
	}
}

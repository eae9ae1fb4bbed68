package resp

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestLoadReturnsTheTrueSHA1(t *testing.T) {
	s := NewScripts()
	for _, text := range []string{"", "return 1", "return cjson.encode({})", strings.Repeat("-", 1<<20), "return '\x00\xff'"} {
		want := fmt.Sprintf("%x", sha1.Sum([]byte(text)))
		got, err := s.Load([]byte(text))
		if err != nil || got != want {
			t.Errorf("%.20q: %s, %v; want %s", text, got, err, want)
		}
		if again, _ := s.Load([]byte(text)); again != want {
			t.Errorf("%.20q, again: %s", text, again)
		}
		for _, sha := range []string{want, strings.ToUpper(want)} {
			if script := s.Get([]byte(sha)); script == nil || script.SHA() != want {
				t.Errorf("%.20q: not found as %s", text, sha)
			}
		}
	}
}

func TestUnknownSHAsAreNotFound(t *testing.T) {
	s := NewScripts()
	s.Load([]byte("return 1"))
	for _, sha := range []string{"", "x", strings.Repeat("0", 40), strings.Repeat("0", 41), "return 1"} {
		if s.Get([]byte(sha)) != nil || s.Exists([]byte(sha)) {
			t.Errorf("%q is found", sha)
		}
	}
}

func TestFlushForgetsScripts(t *testing.T) {
	s := NewScripts()
	sha, _ := s.Load([]byte("return 1"))
	s.Flush()
	if s.Exists([]byte(sha)) {
		t.Error("still there")
	}
	if _, err := s.Load([]byte("return 1")); err != nil || !s.Exists([]byte(sha)) {
		t.Error("cannot be loaded again")
	}
}

func TestTextsThatAreNoLuaAreNotLoaded(t *testing.T) {
	s := NewScripts()
	for text, want := range map[string]string{
		"return (":                          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
		"\n\nx =":                           "ERR Error compiling script (new function): user_script:3: unexpected symbol near '<eof>'",
		"return 1 +* 2":                     "ERR Error compiling script (new function): user_script:1: unexpected symbol near '*'",
		"break":                             "ERR Error compiling script (new function): user_script:1: no loop to break near '<eof>'",
		"goto x":                            "ERR Error compiling script (new function): user_script:1: '=' expected near 'x'",
		"::x::":                             "ERR Error compiling script (new function): user_script:1: unexpected symbol near ':'",
		"return 'a":                         "ERR Error compiling script (new function): user_script:1: unfinished string near '<eof>'",
		"local function f() return ... end": "ERR Error compiling script (new function): user_script:1: cannot use '...' outside a vararg function near '...'",
	} {
		if sha, err := s.Load([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %q, %v\nwant %s", text, sha, err, want)
		}
	}
}

func TestCacheForgetsTheLongestUnused(t *testing.T) {
	s := NewScripts()
	kept, _ := s.Load([]byte("return 'kept'"))
	first, _ := s.Load([]byte("return 'first'"))
	for i := range 3 * maxScripts {
		s.Load(fmt.Appendf(nil, "return %d", i))
		if i%1000 == 0 && s.Get([]byte(kept)) == nil {
			t.Fatalf("a script in use was forgotten after %d others", i)
		}
	}
	if s.Exists([]byte(first)) {
		t.Error("a script that nobody used is still there")
	}
	if n := len(s.bySHA); n > maxScripts || n < maxScripts/2 {
		t.Errorf("%d scripts are kept", n)
	}
}

func TestCacheIsBoundedInBytes(t *testing.T) {
	s := NewScripts()
	filler := strings.Repeat(" ", 15<<10)
	for i := range 500 {
		s.Load(fmt.Appendf(nil, "return %d%s", i, filler))
		s.Load(bytes.Repeat([]byte{'-'}, 1<<20+i)) // of this only the SHA1 is kept
	}
	if s.bytes > maxScriptBytes {
		t.Errorf("%d bytes are kept, the bound is %d", s.bytes, maxScriptBytes)
	}
	sum := 0
	for _, script := range s.bySHA {
		sum += script.bytes
	}
	if sum != s.bytes || len(s.byText) > len(s.bySHA) {
		t.Errorf("%d bytes are counted, %d are there; %d texts for %d scripts", s.bytes, sum, len(s.byText), len(s.bySHA))
	}
}

func TestCacheIsSharedByConnections(t *testing.T) {
	s := NewScripts()
	e := testEnv()
	e.Scripts = s
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				text := fmt.Appendf(nil, "return redis.call('get', KEYS[1]) == '%d'", j)
				script, err := s.Compile(text)
				if err != nil {
					t.Error(err)
					return
				}
				var p Plan
				if errText := script.Plan(&p, words([]string{"k"}), nil, 0, false, e); errText != "" {
					t.Error(errText)
				}
				if i == 0 && j == 100 {
					s.Flush()
				}
			}
		})
	}
	wg.Wait()
}

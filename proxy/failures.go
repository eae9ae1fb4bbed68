package proxy

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"redlock-proxy/redlock"
)

// failures are the last commands and connections that failed or were refused,
// with the reasons. Acquires that are denied because somebody else holds the
// lock did not fail. No token or value is in it.
//
// A failure like one of the latest is counted there: a client that tries again
// and again does not push the others out.
type failures struct {
	mu   sync.Mutex
	ring [failuresKept]failure
	next int // where the next one goes
}

const (
	failuresKept = 128
	failuresLike = 16 // so many of the latest are compared with
)

// failure is one of them, or several alike.
type failure struct {
	at     time.Time // the last time
	times  uint64
	kind   string // of lock command, or the command's name
	reason string // one word, of few
	key    string // see cut; empty if there is none
	text   string // for people
	client string // address of the last client
}

// Reasons beside those of result.
const (
	reasonTooSlow      = "too_slow"
	reasonOvertaken    = "overtaken"
	reasonNotServed    = "not_served"
	reasonAuth         = "auth"
	reasonNoPermission = "no_permission"
)

// maxFailureText bounds the text that is kept of one failure.
const maxFailureText = 600

// note takes up a failure.
func (f *failures) note(n failure) {
	if len(n.text) > maxFailureText {
		n.text = n.text[:maxFailureText] + "…"
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for back := 1; back <= failuresLike; back++ {
		old := &f.ring[(f.next-back+failuresKept)%failuresKept]
		if old.times > 0 && old.kind == n.kind && old.reason == n.reason && old.key == n.key {
			n.times = old.times + 1
			*old = n
			return
		}
	}
	n.times = 1
	f.ring[f.next] = n
	f.next = (f.next + 1) % failuresKept
}

// latest returns the failures that are remembered, the latest first, n at most.
func (f *failures) latest(n int) []failure {
	f.mu.Lock()
	all := slices.DeleteFunc(slices.Clone(f.ring[:]), func(x failure) bool { return x.times == 0 })
	f.mu.Unlock()
	slices.SortStableFunc(all, func(a, b failure) int { return b.at.Compare(a.at) })
	return all[:min(n, len(all))]
}

// reasonOf tells errors of operations apart.
func reasonOf(err error) string {
	var none *redlock.NoQuorumError
	switch {
	case errors.As(err, &none) && none.Overtaken:
		return reasonOvertaken
	case errors.As(err, &none) && none.TooSlow > 0:
		return reasonTooSlow
	}
	return resultNoQuorum.String()
}

// maxShownKey is how much of a key people are shown.
const maxShownKey = 100

// shown is the part of a key that is shown.
func shown(key []byte) []byte {
	if len(key) <= maxShownKey {
		return key
	}
	return append(slices.Clip(key[:maxShownKey]), "…"...)
}

// keyOf is the first key of a lock command, or nothing.
func keyOf(args [][]byte) []byte {
	at := 1
	if len(args) > 0 && bytes.HasPrefix(bytes.ToLower(args[0]), []byte("eval")) {
		at = 3 // behind the script and the number of keys
		if len(args) > 2 && is(args[2], "0") {
			return nil
		}
	}
	if at >= len(args) {
		return nil
	}
	return args[at]
}

// shortest is how long an argument is that may be a secret.
const shortest = 4

// withoutValues is an error text without what the command's arguments, or a
// script, have brought in: there may be tokens among them.
func withoutValues(text string, args [][]byte) string {
	for _, arg := range args[min(2, len(args)):] {
		if len(arg) >= shortest {
			text = strings.ReplaceAll(text, string(arg), "…")
		}
	}
	text, _, _ = strings.Cut(text, " near '")
	return text
}

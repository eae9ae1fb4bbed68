package resp

import (
	"testing"

	"redlock-proxy/redlock"
)

// The commands of a lock's life: recognised, and answered from an outcome.
// None of them may allocate.

func hotCommands() map[string][]string {
	return map[string][]string{
		"SET-NX-PX":  {"SET", "lock:orders:4711", "0123456789abcdef0123456789abcdef", "NX", "PX", "30000"},
		"SET-EX-NX":  {"set", "lock:orders:4711", "0123456789abcdef0123456789abcdef", "ex", "30", "nx"},
		"GET":        {"GET", "lock:orders:4711"},
		"DEL":        {"DEL", "lock:orders:4711"},
		"PEXPIRE":    {"PEXPIRE", "lock:orders:4711", "30000"},
		"DELEX-IFEQ": {"DELEX", "lock:orders:4711", "IFEQ", "0123456789abcdef0123456789abcdef"},
	}
}

// recogniseAndReply is one turn of a hot command; the outcome is that of a
// free key, or of one that holds the token.
func recogniseAndReply(e *Env, l *Lock, args [][]byte, dst []byte, outs []redlock.Outcome, again *redlock.Swap) []byte {
	if errText := e.Recognise(l, args, 0); errText != "" {
		return append(dst, errText...)
	}
	outs[0].Case = redlock.CaseAbsent
	if l.Swaps[0].HasToken {
		outs[0].Case = redlock.CaseMine
	}
	dst, _ = l.Reply(dst, 2, outs, again)
	return dst
}

func BenchmarkRecognise(b *testing.B) {
	for name, command := range hotCommands() {
		b.Run(name, func(b *testing.B) {
			benchmarkCommand(b, testEnv(), words(command))
		})
	}
}

func benchmarkCommand(b *testing.B, e *Env, args [][]byte) {
	var l Lock
	var again redlock.Swap
	outs := make([]redlock.Outcome, 1)
	dst := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		dst = recogniseAndReply(e, &l, args, dst[:0], outs, &again)
	}
	if dst[0] == '-' || dst[0] == 'E' {
		b.Fatalf("%q", dst)
	}
}

func TestHotCommandsDoNotAllocate(t *testing.T) {
	e := testEnv()
	for name, command := range hotCommands() {
		var l Lock
		var again redlock.Swap
		args, outs, dst := words(command), make([]redlock.Outcome, 1), make([]byte, 0, 256)
		allocs := testing.AllocsPerRun(100, func() {
			dst = recogniseAndReply(e, &l, args, dst[:0], outs, &again)
		})
		if allocs != 0 || dst[0] == '-' {
			t.Errorf("%s: %v allocations, reply %q", name, allocs, dst)
		}
	}
}

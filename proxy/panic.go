package proxy

import (
	"runtime/debug"
	"time"

	"redlock-proxy/resp"
)

// A panic while a command is understood, or its reply made, is contained: the
// connection is closed, so its client knows nothing of what it has not read, and
// what it may have been granted is undone. These are the parts that compute with
// what clients send.
//
// A panic in the engine, or in what moves replies to the socket, leaves mutexes
// locked and promises half kept. It ends the process, as if it were killed,
// which is what masters and clients are prepared for.

// unsettled is how long the line of a connection may be locked by somebody else.
const unsettled = time.Second

// engage says whether the reader is, from now on, where a panic cannot be
// contained.
func (s *session) engage(yes bool) { s.engaged = yes }

// readerPanicked is deferred by the reader. It contains a panic if it can.
func (s *session) readerPanicked() {
	why := recover()
	if why == nil {
		return
	}
	s.notePanic(&resp.PanicError{Value: why, Stack: debug.Stack()})
	if s.engaged || !s.line.canLock() {
		panic(why)
	}
	s.line.mu.Lock()
	lost := s.line.withdraw()
	s.line.mu.Unlock()
	if n := len(lost); n > 0 && !lost[n-1].launched {
		lost = lost[:n-1] // the command that panicked was not started
	}
	abandon(lost)
	s.kill()
}

// replyPanicked is deferred where a reply is made, which may be anywhere. What
// was decided is undone like everything else that is unanswered.
func (s *session) replyPanicked() {
	if why := recover(); why != nil {
		s.notePanic(&resp.PanicError{Value: why, Stack: debug.Stack()})
		go s.kill() // the engine may be waiting
	}
}

// notePanic counts and logs a panic.
func (s *session) notePanic(err *resp.PanicError) {
	s.noteCut(cutPanic, "a command made the proxy panic; its connection is closed and what it was granted is undone; please report this", err)
}

// canLock reports whether the line is not locked for good, by the goroutine that
// panicked.
func (l *line) canLock() bool {
	for start := time.Now(); !l.mu.TryLock(); time.Sleep(time.Millisecond) {
		if time.Since(start) > unsettled {
			return false
		}
	}
	l.mu.Unlock()
	return true
}

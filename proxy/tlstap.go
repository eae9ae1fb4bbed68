package proxy

import (
	"net"
	"sync"

	"redlock-proxy/resp"
)

// tap stands between a tls.Conn and its socket. It holds back what the tls.Conn
// writes, once TLS is agreed on.
//
// Besides records of data a tls.Conn writes alerts, and the answer to a change
// of keys; both may wait for the next data, or for ever.
type tap struct {
	net.Conn // the socket
	in       *resp.Records

	mu      sync.Mutex
	holding bool
	closing bool
	store   []byte // what is held, from off on
	off     int
	end     int // where in store the marked record ends
	plain   int // the bytes of data in it
}

// maxTapped is the largest buffer that is kept for other connections: a record
// and what may come with it.
const maxTapped = maxRecord + 1<<10

var tapBuffers = sync.Pool{New: func() any { return new([]byte) }}

// Read is called by the tls.Conn.
func (t *tap) Read(p []byte) (int, error) { return t.in.Read(p) }

// Write is called by the tls.Conn.
func (t *tap) Write(b []byte) (int, error) {
	t.mu.Lock()
	if !t.holding {
		t.mu.Unlock()
		return t.Conn.Write(b)
	}
	defer t.mu.Unlock()
	switch {
	case t.closing:
		if t.off == len(t.store) {
			t.farewell(b)
		}
		return len(b), nil
	case t.store == nil:
		t.store = (*tapBuffers.Get().(*[]byte))[:0]
	}
	t.store = append(t.store, b...)
	return len(b), nil
}

// farewell writes the last alert, if the socket takes it at once.
func (t *tap) farewell(b []byte) {
	if raw := rawConn(t.Conn); raw != nil {
		raw.Write(func(fd uintptr) bool {
			writeNow(fd, b)
			return true
		})
	}
}

// hold begins to hold back.
func (t *tap) hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holding = true
}

// finish makes the next Write the last.
func (t *tap) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closing = true
}

// held returns what is held. It stays as it is until put is called.
func (t *tap) held() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.store[t.off:]
}

// mark says that what is held ends with a record of so many bytes of data.
func (t *tap) mark(plain int) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end, t.plain = len(t.store), plain
	return t.store[t.off:]
}

// put says that n bytes of what is held are in the socket, and returns the bytes
// of data in the marked record if all of it is now.
func (t *tap) put(n int) (plain int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.off += n
	if t.plain > 0 && t.off >= t.end {
		plain, t.plain = t.plain, 0
	}
	if t.off == len(t.store) {
		if cap(t.store) <= maxTapped {
			empty := t.store[:0]
			tapBuffers.Put(&empty)
		}
		t.store, t.off = nil, 0
	}
	return plain
}

package resp

import "sync"

const (
	// bigRead is the size of the shared buffers: what 100 callers of a
	// pipelining client send at once fits into one.
	bigRead = 32 << 10
	// smallRead is room for the commands of a client that waits for each reply.
	smallRead = 4 << 10
	// minRead is the least room to read into.
	minRead = 512
)

// bigBuffers are buffers of connections that have something to read. Those that
// wait hold none, or a small one with the beginning of a command.
var bigBuffers = sync.Pool{New: func() any { return new([bigRead]byte) }}

// buffer holds what was read from a connection and is not used yet. Its memory
// grows with what arrives, by doubling, not with what headers announce, and
// goes away when all is used.
type buffer struct {
	data   []byte // data[start:] is unused
	start  int
	shared *[bigRead]byte // the memory of data, if it is from bigBuffers
}

// bytes returns what is unused.
func (u *buffer) bytes() []byte { return u.data[u.start:] }

// take uses the next n bytes and returns them; they are good until room or
// release is called.
func (u *buffer) take(n int) []byte {
	taken := u.data[u.start : u.start+n]
	u.start += n
	return taken
}

// room returns where to read to, and makes room first if there is little: in
// a new buffer of at least size bytes if there is none.
func (u *buffer) room(size int) []byte {
	n := len(u.bytes())
	switch {
	case cap(u.data)-n < minRead:
		u.move(max(size, 2*n))
	case u.start > 0:
		copy(u.data[:n], u.bytes())
		u.data, u.start = u.data[:n], 0
	}
	return u.data[len(u.data):cap(u.data)]
}

// added says that n bytes were read to room.
func (u *buffer) added(n int) { u.data = u.data[:len(u.data)+n] }

// release gives the memory back if all is used, unless it is the buffer's own
// and at most keep bytes.
func (u *buffer) release(keep int) {
	switch {
	case u.start < len(u.data):
	case u.shared == nil && cap(u.data) <= keep:
		u.data, u.start = u.data[:0], 0
	default:
		u.move(0)
	}
}

// park gives shared memory back before the connection waits. The beginning of
// a command moves to a small buffer, if it is not too long for that.
func (u *buffer) park() {
	n := len(u.bytes())
	switch {
	case u.shared == nil || n > bigRead/4:
	case n == 0:
		u.move(0)
	default:
		u.move(2*n + minRead)
	}
}

// move moves what is unused to memory of size bytes; 0 is none, and drops it.
func (u *buffer) move(size int) {
	old, rest := u.shared, u.bytes()
	switch {
	case size == 0:
		u.data, u.shared = nil, nil
	case size == bigRead:
		u.shared = bigBuffers.Get().(*[bigRead]byte)
		u.data = append(u.shared[:0], rest...)
	default:
		u.shared = nil
		u.data = append(make([]byte, 0, size), rest...)
	}
	u.start = 0
	if old != nil {
		bigBuffers.Put(old)
	}
}

package resp

import (
	"runtime"
	"strings"
	"testing"
)

// arrive adds in to u in pieces of size bytes, waiting between them.
func arrive(u *buffer, in string, size int) {
	for len(in) > 0 {
		n := copy(u.room(bigRead), in[:min(size, len(in))])
		u.added(n)
		in = in[n:]
		u.room(bigRead) // a socket is tried, has nothing,
		u.park()        // and is waited for
	}
}

func TestBufferKeepsWhatArrives(t *testing.T) {
	in := strings.Repeat("0123456789", 20_000)
	for _, size := range []int{1, 7, 100, 513, 1460, 33_000, len(in)} {
		var u buffer
		arrive(&u, in, size)
		if got := string(u.bytes()); got != in {
			t.Errorf("in pieces of %d: bytes changed on the way", size)
		}
		if cap(u.data) > 2*len(in)+bigRead {
			t.Errorf("in pieces of %d: got a buffer of %d bytes for %d", size, cap(u.data), len(in))
		}
		if got := string(u.take(len(in))); got != in {
			t.Errorf("in pieces of %d: took other bytes than arrived", size)
		}
		if u.release(0); u.data != nil || u.shared != nil {
			t.Errorf("in pieces of %d: got a buffer after all was taken", size)
		}
	}
}

func TestBufferKeepsWhatIsNotTaken(t *testing.T) {
	in := strings.Repeat("0123456789", 5000)
	var u buffer
	got := ""
	for i := range 100 {
		arrive(&u, in[i*500:(i+1)*500], 300)
		got += string(u.take(490 + i%11))
		u.release(0)
	}
	if got += string(u.bytes()); got != in {
		t.Errorf("got %d bytes, other than the %d that arrived", len(got), len(in))
	}
}

func TestBufferOfOneByteAfterAnotherCostsLittle(t *testing.T) {
	in := strings.Repeat("x", 1_000_000)
	var u buffer
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	arrive(&u, in, 1)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 5_000_000 {
		t.Errorf("got %d bytes allocated, want no more than a geometric series: 5 MB", got)
	}
}

func TestBufferKeepsItsOwnMemoryIfTold(t *testing.T) {
	var u buffer
	u.added(copy(u.room(smallRead), "PING"))
	u.take(4)
	u.release(smallRead)
	if cap(u.data) != smallRead || len(u.bytes()) != 0 {
		t.Errorf("got %d of %d bytes, want 0 of %d", len(u.bytes()), cap(u.data), smallRead)
	}
	u.added(copy(u.room(smallRead), strings.Repeat("x", 3900)))
	u.room(smallRead)
	u.take(3900)
	if u.release(smallRead); u.data != nil {
		t.Errorf("got %d bytes kept, want none of a buffer that has grown", cap(u.data))
	}
}

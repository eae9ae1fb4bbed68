package integration

import (
	"testing"
	"time"
)

// A client that waits for its acquire no longer closes the connection and
// releases over another one, for instance rueidis when a context ends. The
// release comes behind the acquire at every master, so nothing is left of it.
func TestAcquireOfAClientThatHungUpIsGoneWithItsRelease(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m, "--op-timeout", "2s")
	for range 5 {
		m[0].Freeze()
		m[1].Freeze()
		a := dial(t, p.Addr)
		a.Queue(acquire("k", "t", lockTTL)...)
		if err := a.Flush(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // it is on its way to the masters
		a.Close()
		b := dial(t, p.Addr)
		b.Queue(release("k", "t")...)
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
		m[0].Thaw()
		m[1].Thaw()
		if _, err := b.Read(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // a retry of the acquire would be over
		if got := do(t, p.Addr, "GET", "k"); got != "$-1" {
			t.Fatalf("after the release the lock is held by %s", got)
		}
	}
}

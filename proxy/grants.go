package proxy

import (
	"sync/atomic"
	"time"
)

// Masters do not keep when a lock was taken. A proxy remembers it of the locks
// that it granted itself, until another one needs the place: of the age of
// others it says that it does not know.

const (
	grantsKept = 1 << 14
	grantTag   = 40 // bits of an entry that tell the lock; the others are seconds
)

// grants are when locks were granted. An entry is one word, so that a grant
// costs one store.
type grants [grantsKept]atomic.Uint64

// note notes a grant of a lock, given the hash of its key and the mark of its
// token, so long after the proxy started.
func (g *grants) note(key, mark uint64, at time.Duration) {
	id := grantID(key, mark)
	g[id%grantsKept].Store(id>>(64-grantTag)<<(64-grantTag) | uint64(at/time.Second)&(1<<(64-grantTag)-1))
}

// age is how long ago, to the second, this lock was granted last, and whether
// that is known.
func (g *grants) age(key, mark uint64, now time.Duration) (time.Duration, bool) {
	id := grantID(key, mark)
	entry := g[id%grantsKept].Load()
	if entry == 0 || entry>>(64-grantTag) != id>>(64-grantTag) {
		return 0, false
	}
	at := time.Duration(entry&(1<<(64-grantTag)-1)) * time.Second
	return max(now-at, 0).Truncate(time.Second), true
}

// grantID mixes the two, so that the same token at two keys, or two tokens at
// one, are different locks.
func grantID(key, mark uint64) uint64 { return (key ^ mark*0x9e3779b97f4a7c15) | 1<<63 }

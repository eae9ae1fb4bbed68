package proxy

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/maphash"
)

// marker stands for values without showing them: whoever sees a token can
// release its lock. Equal values have equal marks and masks as long as the
// process runs; neither tells what the value is.
type marker struct {
	seed maphash.Seed
	key  [32]byte
}

func newMarker() *marker {
	m := &marker{seed: maphash.MakeSeed()}
	rand.Read(m.key[:]) // never fails: crypto/rand ends the process instead
	return m
}

// mark tells a value from others, for the proxy itself. It does not allocate.
func (m *marker) mark(value []byte) uint64 { return maphash.Bytes(m.seed, value) }

// mask is what people are shown of a mark: eight hexadecimal digits. It is a
// keyed hash, so that nobody can try tokens against it.
func (m *marker) mask(mark uint64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], mark)
	h := hmac.New(sha256.New, m.key[:])
	h.Write(b[:])
	return hex.EncodeToString(h.Sum(nil)[:4])
}

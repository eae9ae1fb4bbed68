package resp

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// watched is a connection that wants the guard to hold no more than most.
type watched struct {
	*pieces
	t     *testing.T
	guard *Guard
	most  int
}

func (w *watched) Read(b []byte) (int, error) {
	if held := cap(w.guard.unread.data) + cap(w.guard.batch); held > w.most {
		w.t.Errorf("the guard holds %d bytes, want at most %d", held, w.most)
	}
	return w.pieces.Read(b)
}

// FuzzGuard: no bytes make the guard or redcon's parser panic, or the guard hold
// more than the longest command twice; the parser sees the commands that the
// guard has seen; and how the bytes are cut makes no difference.
func FuzzGuard(f *testing.F) {
	seeds := lengths()
	seeds = append(append(append(seeds, types()...), lines()...), foreigners()...)
	for i, c := range seeds {
		if len(c.in) < 1000 {
			f.Add([]byte(c.in+array("SET", "k", "v", "PX", "1000")+"PING\r\n"+c.in), uint64(i), i%2 == 0)
		}
	}
	l := Limits{MaxArgs: 30, MaxBulk: 12_000, MaxCommand: 16_000, MaxInline: 300, MaxBuffered: 100,
		UnauthArgs: 4, UnauthBulk: 20}
	read := func(t *testing.T, p *pieces, authed bool) string {
		w := &watched{pieces: p, t: t, most: 2*l.MaxCommand + smallRead}
		w.guard = NewGuard(w, l)
		if authed {
			w.guard.Authenticated()
		}
		return transcript(w.guard)
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64, authed bool) {
		want := read(t, &pieces{in: [][]byte{in}}, authed)
		if strings.Contains(want, errParser.Error()) {
			t.Fatalf("%q: %s", in, want)
		}
		if got := read(t, randomPieces(in, seed), authed); got != want {
			t.Errorf("%q: got\n%s\nwant, as in one piece,\n%s", in, got, want)
		}
	})
}

// randomPieces cuts in at random.
func randomPieces(in []byte, seed uint64) *pieces {
	random := rand.New(rand.NewPCG(seed, 0))
	p := new(pieces)
	for most := 1 + random.IntN(len(in)+1); len(in) > 0; {
		n := min(1+random.IntN(most), len(in))
		p.in = append(p.in, in[:n:n])
		in = in[n:]
	}
	return p
}

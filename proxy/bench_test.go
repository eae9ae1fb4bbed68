package proxy

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// instantQuorum grants everything: at once, or by a worker that ends what has
// come in meanwhile, as a master's does.
type instantQuorum struct{ work chan *redlock.Op }

func (q *instantQuorum) Now() time.Duration                          { return 1 }
func (q *instantQuorum) Claim(*redlock.Op) bool                      { return true }
func (q *instantQuorum) Settle(*redlock.Op)                          {}
func (q *instantQuorum) Abandon(*redlock.Op)                         {}
func (q *instantQuorum) Join(_, _ *redlock.Op, _ time.Duration) bool { return false }
func (q *instantQuorum) Start(op *redlock.Op, _ time.Duration) {
	if q.work != nil {
		q.work <- op
		return
	}
	done(op)
}

func (q *instantQuorum) worker() {
	for op := range q.work {
		done(op)
	}
}

// BenchmarkSession is one client connection with so many SET commands in
// flight, each answered by a quorum that does not cost anything; ns/op and
// allocs/op are per command and include redcon's parser.
func BenchmarkSession(b *testing.B) {
	for _, by := range []string{"reader", "worker"} {
		for _, depth := range []int{1, 64} {
			b.Run(fmt.Sprintf("doneBy=%s/depth=%d", by, depth), func(b *testing.B) {
				q := &instantQuorum{}
				if by == "worker" {
					q.work = make(chan *redlock.Op, 1024)
					go q.worker()
					defer close(q.work)
				}
				benchmarkSession(b, q, depth)
			})
		}
	}
}

func benchmarkSession(b *testing.B, q quorum, depth int) {
	s, addr := serveAny(b, Config{}, q)
	_ = s
	c := dial(b, addr)
	c.SetDeadline(time.Time{})
	var batch bytes.Buffer
	for i := range depth {
		fmt.Fprintf(&batch, "*6\r\n$3\r\nSET\r\n$12\r\nlock:%07d\r\n$16\r\n0123456789abcdef\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n", i)
	}
	replies := make([]byte, len("+OK\r\n")*depth)
	b.ReportAllocs()
	for b.Loop() {
		c.Write(batch.Bytes())
		if _, err := io.ReadFull(c.TCPConn, replies); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*depth), "ns/command")
}

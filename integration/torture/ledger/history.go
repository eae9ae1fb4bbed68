package ledger

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// Op is one command and what came of it.
type Op struct {
	Client        string
	Proxy         int
	Command       string
	Sent, Arrived time.Duration
	Reply         string
}

// kept is how many operations of a key are remembered.
const kept = 600

// Note remembers an operation for the report.
func (l *Ledger) Note(name string, op Op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.key(name)
	if len(k.ops) == kept {
		k.ops = slices.Delete(k.ops, 0, kept/4)
	}
	k.ops = append(k.ops, op)
}

// WriteHistory writes what is remembered of a key.
func (l *Ledger) WriteHistory(w io.Writer, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.key(name)
	fmt.Fprintf(w, "history of %s\n", name)
	ops := slices.Clone(k.ops)
	slices.SortFunc(ops, func(a, b Op) int { return int(a.Sent - b.Sent) })
	for _, op := range ops {
		fmt.Fprintf(w, "  %s – %s  %s by proxy %d: %s → %s\n", clock(op.Sent), clock(op.Arrived), op.Client, op.Proxy+1, op.Command, op.Reply)
	}
	fmt.Fprintf(w, "holders of %s\n", name)
	for _, h := range k.holds[max(0, len(k.holds)-200):] {
		fmt.Fprintf(w, "  %v\n", h)
	}
}

package resp

import (
	"errors"
	"io"
	"sync"

	"github.com/tidwall/redcon"
)

// maxKept is the largest batch after which a parser is kept: redcon's Reader
// never gives memory back.
const maxKept = bigRead

// batchParser is redcon's Reader, for one batch of one connection after another.
// A Reader for each connection would hold 8 KB while it waits.
type batchParser struct {
	guard  *Guard // nil while it is in batchParsers
	reader *redcon.Reader
}

var batchParsers = sync.Pool{New: func() any {
	p := new(batchParser)
	p.reader = redcon.NewReader(p)
	return p
}}

// Read hands the batch to redcon.
func (p *batchParser) Read(b []byte) (int, error) {
	if len(p.guard.batch) == 0 {
		return 0, io.EOF
	}
	return p.guard.hand(b), nil
}

// errParser says that redcon's parser saw other commands than the guard.
var errParser = errors.New("commands were read differently by guard and parser; this is a bug, please report it")

// ReadCommands waits for commands and returns those that came at once, like
// ReadCommands of a redcon.Reader on the guard, but holds no memory while it
// waits. The commands belong to the caller. For errors see [Guard.Read].
func (g *Guard) ReadCommands() ([]redcon.Command, error) {
	if err := g.await(); err != nil {
		return nil, err
	}
	return g.parse()
}

// parse returns the commands of the batch. It is a function of its own so that
// who waits has no more on its stack than it needs.
func (g *Guard) parse() ([]redcon.Command, error) {
	p := batchParsers.Get().(*batchParser)
	p.guard = g
	size, count := len(g.batch), g.count
	cmds, err := p.reader.ReadCommands()
	for err == nil && len(cmds) < count {
		var more []redcon.Command
		more, err = p.reader.ReadCommands()
		cmds = append(cmds, more...)
	}
	if err != nil || len(cmds) != count {
		return nil, errParser
	}
	p.guard = nil
	if size <= maxKept {
		batchParsers.Put(p)
	}
	return cmds, nil
}

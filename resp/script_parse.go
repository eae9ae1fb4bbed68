package resp

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/yuin/gopher-lua/parse"
)

// maxScript is the longest text that is parsed. The parser has no bounds of its
// own; with this one its worst input costs some milliseconds.
const maxScript = 16 << 10

// parseScript turns a text into a script. An error is the text of a reply: one
// that Redis gives too, if the text is no Lua. A text that only we cannot run
// becomes a script that says so when it is run.
func parseScript(text []byte) (*Script, error) {
	s := &Script{}
	if len(text) > maxScript {
		s.refused = fmt.Sprintf("is longer than %d KiB", maxScript>>10)
		return s, nil
	}
	body, err := s.shebang(text)
	if err != nil {
		return nil, err
	}
	chunk, err := parse.Parse(bytes.NewReader(body), "user_script")
	if err != nil {
		return nil, compileError(syntaxErrorOf(err, body))
	}
	s.main.proto, err = compileLua(chunk)
	var bad *errSyntax
	switch {
	case errors.As(err, &bad):
		return nil, compileError(bad)
	case err != nil:
		s.main.proto, s.refused = nil, err.Error()
	default:
		s.template = templateOf(s.main.proto)
	}
	return s, nil
}

// compileError words an error as Redis does.
func compileError(e *errSyntax) error {
	return fmt.Errorf("ERR Error compiling script (new function): user_script:%d: %s", e.line, e.text)
}

// syntaxErrorOf translates an error of the parser, as far as it says what Lua
// would say.
func syntaxErrorOf(err error, text []byte) *errSyntax {
	e, ok := err.(*parse.Error)
	if !ok {
		return &errSyntax{1, "unexpected symbol"}
	}
	line, near := e.Pos.Line, e.Token
	if line == parse.EOF {
		line, near = 1+bytes.Count(text, []byte{'\n'}), "<eof>"
	}
	message := "unexpected symbol"
	if rest, ok := strings.CutPrefix(e.Message, "unterminated"); ok {
		message = "unfinished" + rest
		if line == e.Pos.Line {
			line-- // the parser has read the line break
		}
	}
	const longest = 80 // as in Lua
	if len(near) > longest {
		near = near[:longest] + "..."
	}
	return &errSyntax{line, fmt.Sprintf("%s near '%s'", message, near)}
}

// shebang takes a first line like "#!lua flags=no-writes" off a text, as Redis
// 7 does. The line break stays, so that lines keep their numbers.
func (s *Script) shebang(text []byte) ([]byte, error) {
	if !bytes.HasPrefix(text, []byte("#!")) {
		return text, nil
	}
	end := bytes.IndexByte(text, '\n')
	if end < 0 {
		return nil, errors.New("ERR Invalid script shebang")
	}
	words := strings.Fields(string(text[:end]))
	if words[0] != "#!lua" {
		return nil, fmt.Errorf("ERR Unexpected engine in script shebang: %s", words[0])
	}
	for _, word := range words[1:] {
		flags, ok := strings.CutPrefix(word, "flags=")
		if !ok {
			return nil, fmt.Errorf("ERR Unknown lua shebang option: %s", word)
		}
		for flag := range strings.SplitSeq(flags, ",") {
			switch flag {
			case "no-writes":
				s.readOnly = true
			case "", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys":
			default:
				return nil, fmt.Errorf("ERR Unexpected flag in script shebang: %s", flag)
			}
		}
	}
	return text[end:], nil
}

package resp

import (
	"errors"
	"fmt"
	"testing"
)

// The rules of quoting are compared with Redis in TestFaultsAreAnsweredAsByRedis.
func TestInlineArguments(t *testing.T) {
	for text, want := range map[string]string{
		"":                     `[]`,
		"\r":                   `[]`,
		" \t \r":               `[]`,
		"PING":                 `["PING"]`,
		" SET  k\tv \r":        `["SET" "k" "v"]`,
		`a ""`:                 `["a" ""]`,
		`a 'b c' "d e"`:        `["a" "b c" "d e"]`,
		`a b"c d"`:             `["a" "bc d"]`,
		`"\x00\xFf\n\r\t\b\a"`: `["\x00\xff\n\r\t\b\a"]`,
		`"\q\\\"\xg1"`:         `["q\\\"xg1"]`,
		`'\n\''`:               `["\\n'"]`,
		`a\x41`:                `["a\\x41"]`,
	} {
		args, err := inlineCommand([]byte(text))
		if got := fmt.Sprintf("%q", args); got != want || err != nil {
			t.Errorf("%q: got %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestInlineQuotesMustBeBalanced(t *testing.T) {
	for _, text := range []string{`"`, `'`, `a "b`, `a 'b`, `"a"b`, `'a'b`, `"a\"`, `"\`, `'\`, `'\'`, `a""b`} {
		if args, err := inlineCommand([]byte(text)); err != errInlineQuotes {
			t.Errorf("%q: got %q, %v, want %v", text, args, err, errInlineQuotes)
		}
	}
}

func TestInlineHTTPIsNotRedis(t *testing.T) {
	for text, want := range map[string]bool{
		"GET / HTTP/1.1":            true,
		"OPTIONS * HTTP/1.0":        true,
		"PRI * HTTP/2.0":            true,
		"post /x":                   true,
		"Host: example.org":         true,
		"HOST: example.org":         true,
		"GET /":                     false,
		"GET HTTP/1.1":              false,
		"SET k HTTP/1.1":            false,
		`SET "" HTTP/1.1`:           false,
		"SET k v":                   false,
		"DEL / HTTP/1.1 HTTP/1.1":   false,
		"SET Host: POST":            false,
		`"GET" "/index" "HTTP/1.1"`: true,
	} {
		_, err := inlineCommand([]byte(text))
		if got := errors.Is(err, ErrNotRedis); got != want {
			t.Errorf("%q: got %v, want ErrNotRedis: %v", text, err, want)
		}
	}
}

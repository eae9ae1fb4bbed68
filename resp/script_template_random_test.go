package resp

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// plainWriter makes up scripts of what templates know, and a little besides.
type plainWriter struct{ writer }

func (w *plainWriter) value(depth int) string {
	if depth <= 0 {
		return w.pick(`ARGV[1]`, `ARGV[1]`, `ARGV[2]`, `KEYS[1]`, `0`, `-1`, `1`, `"x"`, `nil`, `false`, `true`, w.local(), w.local())
	}
	sub := func() string { return w.value(depth - 1) }
	switch w.IntN(12) {
	case 0, 1, 2:
		return w.pick(`redis.call("get", KEYS[1])`, `redis.pcall("GET", KEYS[1])`)
	case 3, 4, 5:
		return fmt.Sprintf("(%s %s %s)", w.value(1), w.pick("==", "~="), w.pick("ARGV[1]", w.value(0)))
	case 6:
		return fmt.Sprintf("(%s %s %s)", sub(), w.pick("and", "or"), sub())
	case 7:
		return fmt.Sprintf("(not %s)", sub())
	case 8:
		return fmt.Sprintf("%s(%s)", w.pick("tonumber", "type"), sub())
	case 9:
		return w.pick(`{ok = "fine"}`, `{err = "E"}`, `redis.error_reply("E")`, `redis.status_reply("S")`, `redis.call("exists", KEYS[1])`)
	case 10:
		return w.write()
	}
	return w.value(0)
}

func (w *plainWriter) write() string {
	v := w.pick("ARGV[1]", "ARGV[1]", "ARGV[1]", "ARGV[2]", "KEYS[1]", w.local())
	ttl := w.pick("ARGV[2]", "ARGV[2]", "tonumber(ARGV[2])", "ARGV[1]", "500", `"500"`, "0", w.local())
	call := w.pick("redis.call", "redis.call", "redis.pcall")
	switch w.IntN(5) {
	case 0:
		return fmt.Sprintf(`%s("%s", KEYS[1])`, call, w.pick("del", "DEL", "unlink"))
	case 1, 2:
		return fmt.Sprintf(`%s("%s", KEYS[1], %s)`, call, w.pick("pexpire", "expire"), ttl)
	case 3:
		return fmt.Sprintf(`%s("%s", KEYS[1], %s, %s)`, call, w.pick("psetex", "setex"), ttl, v)
	}
	return fmt.Sprintf(`%s(%s)`, call, w.pick(
		fmt.Sprintf(`"setnx", KEYS[1], %s`, v),
		fmt.Sprintf(`"set", KEYS[1], %s%s`, v, w.pick("", `, "NX"`, `, "XX"`, `, "KEEPTTL"`)),
		fmt.Sprintf(`"SET", KEYS[1], %s, "%s", %s%s`, v, w.pick("px", "EX"), ttl, w.pick("", `, "NX"`, `, "xx"`, `, "GET"`))))
}

func (w *plainWriter) block(depth int) string {
	var b strings.Builder
	before := w.locals
	for range 1 + w.IntN(3) {
		b.WriteString(w.statement(depth) + "\n")
	}
	w.locals = before
	return b.String()
}

func (w *plainWriter) statement(depth int) string {
	if depth > 0 && w.IntN(2) == 0 {
		return fmt.Sprintf("if %s then\n%selse\n%send", w.value(2), w.block(depth-1), w.block(depth-1))
	}
	switch w.IntN(6) {
	case 0, 1:
		s := fmt.Sprintf("local v%d = %s", w.locals, w.value(2))
		w.locals++
		return s
	case 2:
		return w.write()
	case 3:
		if w.locals > 0 {
			return fmt.Sprintf("%s = %s", w.local(), w.value(1))
		}
	case 4:
		return fmt.Sprintf("if %s then return %s end", w.value(2), w.value(1))
	}
	return fmt.Sprintf("do return %s end", w.value(2))
}

func plainScripts(seed uint64, n int) (texts []string) {
	w := &plainWriter{writer{Rand: rand.New(rand.NewPCG(seed, 2))}}
	for range n {
		w.locals = 0
		texts = append(texts, w.block(2))
	}
	return texts
}

package redlock

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// facts are what verification learned of a server.
type facts struct {
	id       identity
	version  string // for people, "Redis 7.0.15" or "Valkey 8.1.0"
	dialect  dialect
	clientID string // of this connection, empty if not told
	keys     int64  // in the database, -1 if unknown
	durable  bool   // persists every write before it answers, and always did
	end      suffix // TIME and record
	sent     time.Duration
	received time.Duration
	evicted  int64    // keys evicted so far
	warning  string   // what an operator should change
	unread   []string // what could not be read, and was taken as the unsafe case
}

// previous is the connection that a new one replaces.
type previous struct {
	run      string
	clientID string
}

// verify logs in on a fresh connection and learns what decides whether the
// server may vote. Nothing else has used the connection yet, and nothing is
// left unread on it. The error tells an operator why the server is refused.
func verify(conn net.Conn, addr *MasterAddr, db int, key string, old previous, now func() time.Duration) (*facts, error) {
	r := &rawConn{conn: conn, in: bufio.NewReader(conn)}
	if err := r.login(addr, db); err != nil {
		return nil, err
	}
	replies, err := r.do([]string{"INFO"}, []string{"CLIENT", "ID"})
	if err != nil {
		return nil, err
	}
	if replies[0].isError() {
		return nil, fmt.Errorf("INFO is needed to verify a master: %s", replies[0].text)
	}
	info := parseInfo(replies[0].text)
	f := &facts{keys: -1}
	if err := f.readInfo(info); err != nil {
		return nil, err
	}
	f.id.replication = replicationOf(replies[0].text)
	f.clientID = f.known("CLIENT ID", replies[1])
	if err := f.readRest(r, key, old, now); err != nil {
		return nil, err
	}
	f.durable = f.durable && info["aof_enabled"] == "1" && !wasReplica(info)
	f.warning = evictionWarning(info)
	f.evicted, _ = strconv.ParseInt(info["evicted_keys"], 10, 64)
	return f, nil
}

// wasReplica reports whether the server has followed another one in this life:
// then its data may be behind what the master in this place had promised.
func wasReplica(info map[string]string) bool {
	return strings.Trim(info["master_replid2"], "0") != "" || info["second_repl_offset"] != "-1"
}

// login authenticates and selects the database.
func (r *rawConn) login(addr *MasterAddr, db int) error {
	if addr.Password != "" {
		auth := []string{"AUTH", addr.Password}
		if addr.Username != "" {
			auth = []string{"AUTH", addr.Username, addr.Password}
		}
		replies, err := r.do(auth)
		if err != nil {
			return err
		}
		if replies[0].isError() {
			return fmt.Errorf("it refuses the user or password: %s", replies[0].text)
		}
	}
	replies, err := r.do([]string{"SELECT", strconv.Itoa(db)})
	if err != nil {
		return err
	}
	if replies[0].isError() {
		return fmt.Errorf("SELECT %d: %s", db, replies[0].text)
	}
	return nil
}

// readInfo takes what decides whether the server may vote at all.
func (f *facts) readInfo(info map[string]string) error {
	switch {
	case info["cluster_enabled"] == "1" || info["redis_mode"] == "cluster":
		return errors.New("it is a cluster node: masters of a quorum must be independent servers, with cluster-enabled no")
	case info["redis_mode"] == "sentinel":
		return errors.New("it is a sentinel, not a master")
	case info["role"] != "master":
		return fmt.Errorf("its role is %q: masters of a quorum must be independent masters", info["role"])
	case info["loading"] == "1":
		return errors.New("LOADING: it is loading its data set")
	case info["run_id"] == "" || info["master_replid"] == "":
		return errors.New("INFO does not show run_id and master_replid, which tell one life of a master from the next")
	}
	f.id.run = info["run_id"]
	f.version = "Redis " + info["redis_version"]
	if v := info["valkey_version"]; v != "" {
		f.version = "Valkey " + v
	}
	major, _, _ := strings.Cut(info["redis_version"], ".")
	n, _ := strconv.Atoi(major)
	f.dialect = dialect{setNXGet: n >= 7, expiryAt: n >= 7}
	return nil
}

// readRest does what comes last, in one exchange: it ends the connection that
// this one replaces, whose commands may still sit in the server's buffers, and
// only then reads the record.
//
// Client ids begin anew when a server restarts, so an old connection is killed
// only in the life of the server that gave it its id.
func (f *facts) readRest(r *rawConn, key string, old previous, now func() time.Duration) error {
	commands := [][]string{
		{"SCRIPT", "LOAD", swapScript},
		{"SCRIPT", "LOAD", canonicalScript},
		{"SCRIPT", "LOAD", canonicalManyScript},
		{"DBSIZE"},
		{"CONFIG", "GET", "appendfsync"},
		{"CONFIG", "GET", "no-appendfsync-on-rewrite"},
		{"CLIENT", "SETNAME", "redlock-proxy"},
		{"TIME"},
		{"GET", key},
	}
	if old.clientID != "" && old.run == f.id.run {
		replies, err := r.do([]string{"CLIENT", "KILL", "ID", old.clientID})
		if err != nil {
			return err
		}
		f.known("CLIENT KILL", replies[0])
	}
	f.sent = now()
	replies, err := r.do(commands...)
	f.received = now()
	if err != nil {
		return err
	}
	scripts, replies := replies[:3], replies[3:]
	for _, loaded := range scripts {
		if loaded.isError() {
			return fmt.Errorf("SCRIPT LOAD: %s", loaded.text)
		}
	}
	f.dialect.sha = scripts[0].text
	if f.dialect.setNXGet {
		f.dialect.canonical, f.dialect.canonicalMany = scripts[1].text, scripts[2].text
	}
	if size := f.known("DBSIZE", replies[0]); size != "" {
		f.keys, _ = strconv.ParseInt(size, 10, 64)
	}
	fsync, rewrite := f.known("CONFIG", replies[1]), f.known("CONFIG", replies[2])
	f.durable = fsync == "appendfsync always" && rewrite == "no-appendfsync-on-rewrite no"
	return f.readEnd(replies[4], replies[5])
}

func (f *facts) readEnd(clock, rec reply) error {
	if clock.isError() {
		return fmt.Errorf("TIME is needed at the end of every batch: %s", clock.text)
	}
	if rec.isError() {
		return fmt.Errorf("its record can not be read: %s", rec.text)
	}
	seconds, micros, _ := strings.Cut(clock.text, " ")
	s, err1 := strconv.ParseInt(seconds, 10, 64)
	u, err2 := strconv.ParseInt(micros, 10, 64)
	if err1 != nil || err2 != nil {
		return fmt.Errorf("TIME answered %q", clock.text)
	}
	f.end = suffix{timeMicros: s*1e6 + u, ok: true}
	if rec.kind != 0 {
		f.end.record = []byte(rec.text)
	}
	return nil
}

// known is the reply, or empty, and remembered as unread, if it is an error.
func (f *facts) known(what string, r reply) string {
	if !r.isError() {
		return r.text
	}
	f.unread = append(f.unread, what+": "+r.text)
	return ""
}

// replicationOf is what INFO replication tells of a master's past as a replica,
// empty for a replica. A promotion keeps the id of the server that was followed,
// and where that ended. (The server's own replication id tells as much, but it
// also changes when the first replica is attached, and when the last one has been
// gone for an hour.)
func replicationOf(info string) string {
	if !strings.Contains(info, "role:master\r\n") {
		return ""
	}
	_, offset, _ := strings.Cut(info, "\r\nsecond_repl_offset:")
	offset, _, _ = strings.Cut(offset, "\r\n")
	if offset == "-1" {
		return neverReplica
	}
	_, followed, _ := strings.Cut(info, "\r\nmaster_replid2:")
	return offset + "-" + followed[:min(len(followed), 8)]
}

// neverReplica is the replication of a server that was no replica in this life,
// or long ago.
const neverReplica = "original"

// parseInfo reads the lines "field:value" of INFO.
func parseInfo(text string) map[string]string {
	info := make(map[string]string)
	for line := range strings.SplitSeq(text, "\n") {
		if field, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[field] = value
		}
	}
	return info
}

// rawConn speaks RESP2 on a connection that rueidis does not have yet.
type rawConn struct {
	conn net.Conn
	in   *bufio.Reader
}

// reply is one reply as text; the elements of an array are joined by spaces.
type reply struct {
	kind byte // the type byte of RESP, 0 for nil
	text string
}

func (r reply) isError() bool { return r.kind == '-' }

// do sends commands and reads all their replies.
func (r *rawConn) do(commands ...[]string) ([]reply, error) {
	if err := r.send(commands...); err != nil {
		return nil, err
	}
	replies := make([]reply, len(commands))
	for i := range replies {
		var err error
		if replies[i], err = r.read(); err != nil {
			return nil, fmt.Errorf("%s: %w", commands[i][0], err)
		}
	}
	return replies, nil
}

func (r *rawConn) send(commands ...[]string) error {
	var out []byte
	for _, args := range commands {
		out = fmt.Appendf(out, "*%d\r\n", len(args))
		for _, arg := range args {
			out = fmt.Appendf(out, "$%d\r\n%s\r\n", len(arg), arg)
		}
	}
	_, err := r.conn.Write(out)
	return err
}

// maxReply bounds what is read as one string.
const maxReply = 1 << 20

func (r *rawConn) read() (reply, error) {
	line, err := r.in.ReadString('\n')
	if err != nil {
		return reply{}, err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return reply{}, errors.New("an empty line instead of a reply")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+', '-', ':':
		return reply{kind, rest}, nil
	case '$', '*':
	default:
		return reply{}, fmt.Errorf("%.40q instead of a reply: is this a Redis server, and is TLS on at both sides or neither?", line)
	}
	n, err := strconv.Atoi(rest)
	switch {
	case err != nil || n > maxReply:
		return reply{}, fmt.Errorf("%.40q instead of a reply", line)
	case n < 0:
		return reply{}, nil
	case kind == '$':
		text := make([]byte, n+2)
		_, err := io.ReadFull(r.in, text)
		return reply{kind, string(text[:n])}, err
	}
	return r.readArray(n)
}

func (r *rawConn) readArray(n int) (reply, error) {
	var all []string
	for range n {
		element, err := r.read()
		if err != nil {
			return reply{}, err
		}
		all = append(all, element.text)
	}
	return reply{'*', strings.Join(all, " ")}, nil
}

package proxy

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"redlock-proxy/resp"
)

// maxAttribute bounds the names that a connection keeps for its lifetime.
const maxAttribute = 1024

// clientCommand is CLIENT and its subcommands.
func clientCommand() *command {
	return withSubs("client",
		&command{name: "id", arity: 2, run: clientID},
		&command{name: "setname", arity: 3, run: clientSetName},
		&command{name: "getname", arity: 2, run: clientGetName},
		&command{name: "setinfo", arity: 4, run: clientSetInfo},
		&command{name: "info", arity: 2, run: clientInfo},
		&command{name: "list", arity: -2, run: clientList},
		&command{name: "no-evict", arity: 3, run: clientSwitch(func(c *client, on bool) { c.noEvict = on })},
		&command{name: "no-touch", arity: 3, run: clientSwitch(func(c *client, on bool) { c.noTouch = on })},
		&command{name: "capa", arity: -3, run: ok},
		&command{name: "reply", arity: 3, run: clientReply},
		&command{name: "tracking", arity: -3, run: clientTracking},
		&command{name: "trackinginfo", arity: 2, run: clientTrackingInfo},
		&command{name: "caching", arity: 3, run: text(errCaching)},
		&command{name: "getredir", arity: 2, run: number(-1)},
		&command{name: "unblock", arity: -3, run: number(0)},
		&command{name: "maint_notifications", arity: -2, run: text(errMaint)},
		&command{name: "kill", arity: -3, run: text(notServed("CLIENT KILL", "a client's locks end by release or TTL, not with its connection"))},
		&command{name: "pause", arity: -3, run: text(notServed("CLIENT PAUSE", "locks cannot be held back without outliving their TTL"))},
		&command{name: "unpause", arity: 2, run: ok},
		&command{name: "help", arity: 2, run: help(
			"CLIENT ID | GETNAME | SETNAME name | SETINFO lib-name|lib-ver value",
			"CLIENT INFO | LIST [TYPE type] [ID id [id ...]]",
			"CLIENT NO-EVICT on|off | NO-TOUCH on|off | REPLY on | CAPA capability ...",
			"Tracking and maintenance notifications are refused.")},
	)
}

// What is refused here is refused always: go-redis 9.16 to 9.20 treats a later
// refusal of MAINT_NOTIFICATIONS as fatal once one was accepted, and accepted
// tracking without pushes would leave rueidislock's waiters asleep.
const (
	errTracking = "ERR CLIENT TRACKING is not served by redlock-proxy: it sends no invalidation messages; disable client-side caching in the client"
	errMaint    = "ERR CLIENT MAINT_NOTIFICATIONS is not served by redlock-proxy: there is no maintenance to announce"
	errCaching  = "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled"
)

func clientID(_ *Server, c *client, _ [][]byte, dst []byte) []byte {
	return resp.AppendInt(dst, c.id)
}

// nameFault says what is wrong with a client's name, or nothing.
func nameFault(name []byte) string {
	if !printable(name) {
		return errName
	}
	if len(name) > maxAttribute {
		return fmt.Sprintf("ERR Client names cannot be longer than %d bytes", maxAttribute)
	}
	return ""
}

// printable reports whether b consists of visible ASCII characters.
func printable(b []byte) bool {
	for _, x := range b {
		if x < '!' || x > '~' {
			return false
		}
	}
	return true
}

func clientSetName(_ *Server, c *client, args [][]byte, dst []byte) []byte {
	if fault := nameFault(args[2]); fault != "" {
		return resp.AppendError(dst, fault)
	}
	c.set(func(c *client) { c.name = string(args[2]) })
	return resp.AppendStatus(dst, "OK")
}

func clientGetName(_ *Server, c *client, _ [][]byte, dst []byte) []byte {
	if c.name == "" {
		return resp.AppendNull(dst, c.proto)
	}
	return resp.AppendBulkString(dst, c.name)
}

// clientSetInfo answers CLIENT SETINFO lib-name|lib-ver value.
func clientSetInfo(_ *Server, c *client, args [][]byte, dst []byte) []byte {
	var field *string
	switch {
	case is(args[2], "lib-name"):
		field = &c.libName
	case is(args[2], "lib-ver"):
		field = &c.libVer
	default:
		return resp.AppendError(dst, "ERR Unrecognized option '"+cString(args[2], 128)+"'")
	}
	if !printable(args[3]) || len(args[3]) > maxAttribute {
		return resp.AppendError(dst, "ERR "+string(args[2])+" cannot contain spaces, newlines or special characters.")
	}
	c.set(func(*client) { *field = string(args[3]) })
	return resp.AppendStatus(dst, "OK")
}

// clientSwitch answers a subcommand that takes on or off.
func clientSwitch(set func(c *client, on bool)) handler {
	return func(_ *Server, c *client, args [][]byte, dst []byte) []byte {
		on := is(args[2], "on")
		if !on && !is(args[2], "off") {
			return resp.AppendError(dst, errSyntax)
		}
		c.set(func(c *client) { set(c, on) })
		return resp.AppendStatus(dst, "OK")
	}
}

// clientReply refuses to fall silent: a lock whose reply is never read is a
// lock nobody knows to hold.
func clientReply(_ *Server, _ *client, args [][]byte, dst []byte) []byte {
	switch {
	case is(args[2], "on"):
		return resp.AppendStatus(dst, "OK")
	case is(args[2], "off"), is(args[2], "skip"):
		return resp.AppendError(dst, notServed("CLIENT REPLY "+strings.ToUpper(string(args[2])), "the reply says whether the lock is held"))
	}
	return resp.AppendError(dst, errSyntax)
}

func clientTracking(_ *Server, _ *client, args [][]byte, dst []byte) []byte {
	switch {
	case is(args[2], "off"):
		return resp.AppendStatus(dst, "OK")
	case is(args[2], "on"):
		return resp.AppendError(dst, errTracking)
	}
	return resp.AppendError(dst, errSyntax)
}

// clientTrackingInfo says that tracking is off.
func clientTrackingInfo(_ *Server, c *client, _ [][]byte, dst []byte) []byte {
	dst = resp.AppendMap(dst, c.proto, 3)
	dst = resp.AppendSet(resp.AppendBulkString(dst, "flags"), c.proto, 1)
	dst = resp.AppendBulkString(dst, "off")
	dst = resp.AppendInt(resp.AppendBulkString(dst, "redirect"), -1)
	return resp.AppendArray(resp.AppendBulkString(dst, "prefixes"), 0)
}

func clientInfo(_ *Server, c *client, _ [][]byte, dst []byte) []byte {
	return appendText(dst, c.proto, string(c.appendInfo(nil, time.Now())))
}

// clientList answers CLIENT LIST [TYPE type] [ID id ...].
func clientList(s *Server, c *client, args [][]byte, dst []byte) []byte {
	want, fault := parseClientList(args[2:])
	if fault != "" {
		return resp.AppendError(dst, fault)
	}
	var b []byte
	now := time.Now()
	for _, other := range s.clients.all() {
		if want(other) {
			b = other.appendInfo(b, now)
		}
	}
	return appendText(dst, c.proto, string(b))
}

func parseClientList(args [][]byte) (want func(*client) bool, fault string) {
	switch {
	case len(args) == 0:
		return func(*client) bool { return true }, ""
	case len(args) == 2 && is(args[0], "type"):
		switch strings.ToLower(string(args[1])) {
		case "normal":
			return func(c *client) bool { return !c.subscribes() }, ""
		case "pubsub":
			return (*client).subscribes, ""
		case "master", "replica", "slave":
			return func(*client) bool { return false }, ""
		}
		return nil, "ERR Unknown client type '" + cString(args[1], 128) + "'"
	case len(args) >= 2 && is(args[0], "id"):
		ids := map[int64]bool{}
		for _, arg := range args[1:] {
			id, ok := parseInt(arg)
			if !ok {
				return nil, "ERR Invalid client ID"
			}
			ids[id] = true
		}
		return func(c *client) bool { return ids[c.id] }, ""
	}
	return nil, errSyntax
}

// subscribes reports whether the client subscribes to anything.
func (c *client) subscribes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.channels+c.patterns > 0
}

// appendInfo appends the line of c in CLIENT LIST.
func (c *client) appendInfo(b []byte, now time.Time) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	age := now.Sub(c.created)
	idle := age - time.Duration(c.lastSeen.Load())
	for _, field := range [...]struct{ key, value string }{
		{"id", strconv.FormatInt(c.id, 10)},
		{"addr", c.addr},
		{"laddr", c.laddr},
		{"name", c.name},
		{"age", seconds(age)},
		{"idle", seconds(idle)},
		{"flags", c.flags()},
		{"db", strconv.Itoa(c.db)},
		{"sub", strconv.Itoa(c.channels)},
		{"psub", strconv.Itoa(c.patterns)},
		{"ssub", "0"},
		{"multi", "-1"},
		{"user", c.user},
		{"redir", "-1"},
		{"resp", strconv.Itoa(c.proto)},
		{"lib-name", c.libName},
		{"lib-ver", c.libVer},
	} {
		b = append(append(append(append(b, field.key...), '='), field.value...), ' ')
	}
	b[len(b)-1] = '\n'
	return b
}

// flags are Redis's letters: P subscribed, e no-evict, T no-touch, N none.
func (c *client) flags() string {
	flags := ""
	if c.channels+c.patterns > 0 {
		flags += "P"
	}
	if c.noEvict {
		flags += "e"
	}
	if c.noTouch {
		flags += "T"
	}
	if flags == "" {
		return "N"
	}
	return flags
}

// seconds renders a duration in whole seconds, at least 0.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64(max(d, 0)/time.Second), 10)
}

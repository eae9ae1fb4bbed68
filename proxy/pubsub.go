package proxy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

// pubsubCommands are about messages. What changes the connection's
// subscriptions, or sends, is left to [session.converse].
func pubsubCommands() []*command {
	return []*command{
		{name: "subscribe", arity: -2, run: nothing, action: actionConverse},
		{name: "psubscribe", arity: -2, run: nothing, action: actionConverse},
		{name: "unsubscribe", arity: -1, run: nothing, action: actionConverse},
		{name: "punsubscribe", arity: -1, run: nothing, action: actionConverse},
		{name: "publish", arity: 3, run: nothing, action: actionConverse},
		withSubs("pubsub",
			&command{name: "channels", arity: -2, run: pubsubChannels},
			&command{name: "numsub", arity: -2, run: pubsubNumSub},
			&command{name: "numpat", arity: 2, run: pubsubNumPat},
			// Shard channels belong to clusters. Redisson asks whether there
			// are any.
			&command{name: "shardchannels", arity: -2, run: pubsubShardChannels},
			&command{name: "shardnumsub", arity: -2, run: pubsubShardNumSub},
			&command{name: "help", arity: 2, run: help(
				"PUBSUB CHANNELS [pattern] | NUMPAT | NUMSUB [channel ...]",
				"They tell what the clients of this proxy subscribe to.")},
		),
	}
}

// converse runs one of pubsubCommands, whose arity was checked.
func (s *session) converse(sl *slot, args [][]byte) {
	name := args[0]
	pattern := name[0] == 'p' || name[0] == 'P'
	switch {
	case is(name, "publish"):
		s.send(sl, string(args[1]), string(args[2]))
	case is(name, "subscribe"), is(name, "psubscribe"):
		s.subscribe(sl, args[1:], pattern)
	default:
		s.unsubscribe(sl, args[1:], pattern)
	}
}

// send publishes a message. The reply is the number of receivers that one
// server knows of, as in Redis: this proxy, or the master that tells most.
func (s *session) send(sl *slot, channel, payload string) {
	here := s.srv.hub.receivers(channel)
	s.srv.hub.bus.Publish(channel, payload, func(receivers int64, err error) {
		if err != nil {
			sl.reply = resp.AppendError(sl.reply, "NOQUORUM PUBLISH: "+err.Error())
		} else {
			sl.reply = resp.AppendInt(sl.reply, max(receivers, here))
		}
		s.completed(sl)
	})
}

// subscribe adds topics. It is acknowledged when a quorum of masters has them,
// so that no message which is published later is missed.
func (s *session) subscribe(sl *slot, names [][]byte, pattern bool) {
	if fault := s.mayListen(names); fault != "" {
		s.answer(sl, resp.AppendError(sl.reply, fault))
		return
	}
	command := "subscribe"
	if pattern {
		command = "psubscribe"
	}
	for _, name := range names {
		topic := redlock.Topic{Name: string(name), Pattern: pattern}
		l := s.listening[topic]
		if l == nil {
			l = s.srv.hub.listen(s, topic)
			s.listens(topic, l)
		}
		sl.listeners = append(sl.listeners, l)
		sl.reply = s.appendAcknowledgement(sl.reply, command, topic.Name)
	}
	s.heedChange(sl.listeners)
	var waits atomic.Int32
	waits.Store(int32(len(sl.listeners) + 1))
	ready := func() {
		if waits.Add(-1) == 0 {
			s.completed(sl)
		}
	}
	for _, l := range sl.listeners {
		l.topic.sub.WhenReady(ready)
	}
	ready()
}

// mayListen says why no more topics of these names may be added.
func (s *session) mayListen(names [][]byte) (fault string) {
	bytes := 0
	for _, name := range names {
		bytes += len(name)
	}
	switch {
	case len(s.listening)+len(names) > maxListening:
		return fmt.Sprintf("ERR redlock-proxy: a connection may subscribe to at most %d channels and patterns; nothing was added to them", maxListening)
	case !s.srv.hub.hasRoom(len(names), bytes):
		return fmt.Sprintf("ERR redlock-proxy: all clients together may subscribe to at most %d channels and patterns with %d MiB of names; nothing was added to them", maxTopics, maxTopicBytes>>20)
	}
	return ""
}

// unsubscribe ends subscriptions: the named ones, or all of the kind.
func (s *session) unsubscribe(sl *slot, names [][]byte, pattern bool) {
	command := "unsubscribe"
	if pattern {
		command = "punsubscribe"
	}
	list := make([]string, 0, len(names))
	for _, name := range names {
		list = append(list, string(name))
	}
	if len(names) == 0 {
		list = s.topics(pattern)
	}
	for _, name := range list {
		topic := redlock.Topic{Name: name, Pattern: pattern}
		if l := s.listening[topic]; l != nil {
			l.close()
			s.listens(topic, nil)
		}
		sl.reply = s.appendAcknowledgement(sl.reply, command, name)
	}
	if len(list) == 0 {
		sl.reply = resp.AppendPush(sl.reply, sl.proto, 3)
		sl.reply = resp.AppendNull(resp.AppendBulkString(sl.reply, command), sl.proto)
		sl.reply = resp.AppendInt(sl.reply, int64(len(s.listening)))
	}
	s.answer(sl, sl.reply)
}

// topics are the names of the connection's channels or patterns, sorted.
func (s *session) topics(pattern bool) (names []string) {
	for topic := range maps.Keys(s.listening) {
		if topic.Pattern == pattern {
			names = append(names, topic.Name)
		}
	}
	slices.Sort(names)
	return names
}

// listens notes a subscription, or its end if l is nil.
func (s *session) listens(topic redlock.Topic, l *listener) {
	if l == nil {
		delete(s.listening, topic)
	} else {
		if s.listening == nil {
			s.listening = map[redlock.Topic]*listener{}
		}
		s.listening[topic] = l
	}
	change := len(s.listening) - s.channels - s.patterns
	s.set(func(c *client) {
		if topic.Pattern {
			c.patterns += change
		} else {
			c.channels += change
		}
	})
}

// stopListening ends all subscriptions without a word.
func (s *session) stopListening() {
	for _, l := range s.listening {
		l.close()
	}
	s.listening = nil
	s.set(func(c *client) { c.channels, c.patterns = 0, 0 })
}

// appendAcknowledgement appends what Redis says about one topic.
func (s *session) appendAcknowledgement(dst []byte, command, name string) []byte {
	dst = resp.AppendPush(dst, s.proto, 3)
	dst = resp.AppendBulkString(resp.AppendBulkString(dst, command), name)
	return resp.AppendInt(dst, int64(len(s.listening)))
}

// whileListening answers what a connection with subscriptions may not ask in
// RESP2, where replies and messages look the same, and PING, whose reply looks
// like a message then. It reports false for everything else.
func (s *session) whileListening(sl *slot, args [][]byte) bool {
	if len(s.listening) == 0 || s.proto == 3 {
		return false
	}
	name, known := s.fullName(args)
	switch name {
	case "subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe", "sunsubscribe", "quit", "reset":
		return false
	case "ping":
		if len(args) > 2 {
			return false
		}
		var echo []byte
		if len(args) == 2 {
			echo = args[1]
		}
		sl.reply = resp.AppendBulkString(resp.AppendArray(sl.reply, 2), "pong")
		s.answer(sl, resp.AppendBulk(sl.reply, echo))
		return true
	}
	if !known || resp.ArityError(args) != "" {
		return false // what is wrong comes first
	}
	code := "ERR"
	if name == "exec" {
		code = "EXECABORT Transaction discarded because of:"
	}
	s.answer(sl, resp.AppendError(sl.reply, code+" Can't execute '"+name+
		"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"))
	return true
}

// fullName is the name of a command as Redis has it in errors, such as "get" or
// "client|id", and whether there is such a command.
func (s *session) fullName(args [][]byte) (name string, known bool) {
	name = strings.ToLower(string(args[0][:min(len(args[0]), 32)]))
	cmd := find(s.srv.commands, args[0])
	switch {
	case cmd == nil:
		return name, resp.IsLock(args[0]) || s.srv.refused[name] != ""
	case cmd.subs == nil || len(args) < 2:
		return name, cmd.fits(len(args))
	}
	if sub := cmd.subcommand(args); sub != nil {
		return sub.name, sub.fits(len(args))
	}
	return name, false
}

// pubsubChannels answers PUBSUB CHANNELS [pattern].
func pubsubChannels(s *Server, c *client, args [][]byte, dst []byte) []byte {
	if len(args) > 3 {
		return resp.AppendError(dst, wrongSubcommand(args))
	}
	fits := func(string) bool { return true }
	if len(args) == 3 {
		fits = redlock.Topic{Name: string(args[2]), Pattern: true}.Matches
	}
	r := c.rights()
	names := s.hub.channels(func(name string) bool { return fits(name) && r.mayUse(name) })
	slices.Sort(names)
	dst = resp.AppendArray(dst, len(names))
	for _, name := range names {
		dst = resp.AppendBulkString(dst, name)
	}
	return dst
}

// wrongSubcommand is what Redis says about an argument too many here.
func wrongSubcommand(args [][]byte) string {
	return "ERR unknown subcommand or wrong number of arguments for '" + cString(args[1], 128) + "'. Try PUBSUB HELP."
}

// pubsubNumSub answers PUBSUB NUMSUB [channel ...].
func pubsubNumSub(s *Server, c *client, args [][]byte, dst []byte) []byte {
	dst = resp.AppendMap(dst, 2, len(args)-2)
	for _, name := range args[2:] {
		n := 0
		if c.rights().mayUse(string(name)) {
			n = s.hub.subscribers(string(name))
		}
		dst = resp.AppendInt(resp.AppendBulk(dst, name), int64(n))
	}
	return dst
}

// pubsubNumPat answers PUBSUB NUMPAT.
func pubsubNumPat(s *Server, _ *client, _ [][]byte, dst []byte) []byte {
	_, patterns := s.hub.counts()
	return resp.AppendInt(dst, int64(patterns))
}

// pubsubShardChannels answers PUBSUB SHARDCHANNELS [pattern]: there are none.
func pubsubShardChannels(_ *Server, _ *client, args [][]byte, dst []byte) []byte {
	if len(args) > 3 {
		return resp.AppendError(dst, wrongSubcommand(args))
	}
	return resp.AppendArray(dst, 0)
}

// pubsubShardNumSub answers PUBSUB SHARDNUMSUB [channel ...]: nobody.
func pubsubShardNumSub(_ *Server, _ *client, args [][]byte, dst []byte) []byte {
	dst = resp.AppendMap(dst, 2, len(args)-2)
	for _, name := range args[2:] {
		dst = resp.AppendInt(resp.AppendBulk(dst, name), 0)
	}
	return dst
}

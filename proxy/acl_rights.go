package proxy

import (
	"crypto/sha256"
	"crypto/subtle"
	"strings"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

// rights is what one user may do. It is not changed once it is in force.
type rights struct {
	on, nopass bool
	passwords  [][sha256.Size]byte

	commands    map[string]bool // by name; nil: all
	rules       []string        // that made commands, for people
	keys        []keyRule
	allKeys     bool
	channels    []string // patterns
	allChannels bool

	env *resp.Env // for commands of this user
}

// keyRule is a pattern of keys, and what may be done to them.
type keyRule struct {
	pattern     string
	read, write bool
}

// everything is the rights of the only user where there is no file of them.
func everything(password string) *rights {
	r := &rights{on: true, nopass: password == "", allKeys: true, allChannels: true, rules: []string{"+@all"}}
	if password != "" {
		r.passwords = [][sha256.Size]byte{sha256.Sum256([]byte(password))}
	}
	return r
}

// opens reports whether a password is right. How long that takes tells nothing
// of the passwords.
func (r *rights) opens(password []byte) bool {
	sum, hit := sha256.Sum256(password), 0
	for i := range r.passwords {
		hit |= subtle.ConstantTimeCompare(sum[:], r.passwords[i][:])
	}
	return r.on && (hit == 1 || r.nopass)
}

// all reports that nothing has to be looked at.
func (r *rights) all() bool { return r.commands == nil && r.allKeys && r.allChannels }

// mayRun reports whether a command may be run, by its name in errors. Everybody
// may log in and leave.
func (r *rights) mayRun(name string) bool {
	return r.commands == nil || r.commands[name] || beforeLogin(name)
}

// mayTouch reports whether one rule allows all that is to be done to a key.
func (r *rights) mayTouch(key []byte, read, write bool) bool {
	if r.allKeys {
		return true
	}
	for i := range r.keys {
		k := &r.keys[i]
		if (k.read || !read) && (k.write || !write) && redlock.MatchGlob(k.pattern, string(key)) {
			return true
		}
	}
	return false
}

// maySee reports whether a key may be listed.
func (r *rights) maySee(key string) bool { return r.mayTouch([]byte(key), false, false) }

// mayUse reports whether a channel may be heard and sent to.
func (r *rights) mayUse(channel string) bool {
	return r.mayListen(redlock.Topic{Name: channel})
}

// mayListen reports whether a channel or a pattern may be subscribed to. As in
// Redis a pattern has to be just one of the user's.
func (r *rights) mayListen(topic redlock.Topic) bool {
	if r.allChannels {
		return true
	}
	for _, pattern := range r.channels {
		if topic.Pattern && pattern == topic.Name || !topic.Pattern && redlock.MatchGlob(pattern, topic.Name) {
			return true
		}
	}
	return false
}

// denial is what a user may not do.
type denial uint8

const (
	notDenied denial = iota
	deniedCommand
	deniedKey
	deniedChannel
	denials
)

// String is the denial's label.
func (d denial) String() string { return [...]string{"", "command", "key", "channel"}[d] }

// denies says what in a command, with its name in errors, the user may not do.
func (r *rights) denies(name string, args [][]byte) denial {
	if r.all() {
		return notDenied
	}
	if !r.mayRun(name) {
		return deniedCommand
	}
	if !r.allKeys {
		a := resp.AccessOf(args)
		for i := a.First; i > 0 && i <= min(a.Last, len(args)-1); i += a.Step {
			if !r.mayTouch(args[i], a.Read, a.Write) {
				return deniedKey
			}
		}
	}
	if !r.mayUseAll(name, args) {
		return deniedChannel
	}
	return notDenied
}

// mayUseAll reports whether the channels of a command may be used.
func (r *rights) mayUseAll(name string, args [][]byte) bool {
	switch name {
	case "publish":
		return r.mayUse(string(args[1]))
	case "subscribe", "psubscribe":
		for _, arg := range args[1:] {
			if !r.mayListen(redlock.Topic{Name: string(arg), Pattern: name == "psubscribe"}) {
				return false
			}
		}
	}
	return true
}

// errText is what a client is told, in Redis 7.0's words.
func (d denial) errText(name string) string {
	const cannot = "NOPERM this user has no permissions to "
	switch d {
	case deniedCommand:
		return cannot + "run the '" + name + "' command"
	case deniedKey:
		return cannot + "access one of the keys used as arguments"
	case deniedChannel:
		return cannot + "access one of the channels used as arguments"
	}
	return ""
}

// inScript is what a script is told.
func (r *rights) inScript(args [][]byte) (errText string) {
	switch r.denies(strings.ToLower(string(args[0])), args) {
	case deniedCommand:
		return "ERR The user executing the script can't run this command or subcommand"
	case deniedKey:
		return "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments"
	case deniedChannel:
		return "ERR The user executing the script can't publish to the channel mentioned in the command"
	}
	return ""
}

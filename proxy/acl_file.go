package proxy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// ACLFaults is what is wrong with a file of users, a line for each fault. It
// never repeats a word of the file, which may be a password in the wrong place.
type ACLFaults []string

func (f ACLFaults) Error() string { return strings.Join(f, "\n") }

// Misconfigured says that it is the operator's fault.
func (ACLFaults) Misconfigured() {}

// parseACL reads the lines "user NAME rule …". Its error is ACLFaults.
func parseACL(path, text string) (map[string]*rights, error) {
	names, found := newACLNames(), map[string]*rights{}
	var faults ACLFaults
	number := 0
	for line := range strings.Lines(text) {
		number++
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		r, word, fault := parseUser(words, names)
		if _, twice := found[nameOf(words)]; fault == "" && twice {
			word, fault = 2, "there is a line for this user already"
		}
		if fault != "" {
			faults = append(faults, fmt.Sprintf("%s: line %d, word %d: %s", path, number, word, fault))
			continue
		}
		found[nameOf(words)] = r
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return found, nil
}

func nameOf(words []string) string {
	if len(words) < 2 {
		return ""
	}
	return words[1]
}

// parseUser reads one line. Otherwise it says which word, from 1, is wrong.
func parseUser(words []string, names *aclNames) (r *rights, word int, fault string) {
	switch {
	case words[0] != "user":
		return nil, 1, "a line begins with user"
	case len(words) < 2:
		return nil, 2, "the user's name is missing"
	}
	r = &rights{commands: map[string]bool{}, rules: []string{"-@all"}}
	for i, rule := range words[2:] {
		if fault := r.apply(rule, names); fault != "" {
			return nil, i + 3, fault
		}
	}
	return r, 0, ""
}

// apply applies one rule, or says what is wrong with it.
func (r *rights) apply(rule string, names *aclNames) (fault string) {
	switch strings.ToLower(rule) {
	case "on":
		r.on = true
	case "off":
		r.on = false
	case "nopass":
		r.nopass, r.passwords = true, nil
	case "resetpass":
		r.nopass, r.passwords = false, nil
	case "sanitize-payload", "skip-sanitize-payload": // about RESTORE, which is not served
	case "allkeys":
		return r.apply("~*", names)
	case "resetkeys":
		r.allKeys, r.keys = false, nil
	case "allchannels":
		return r.apply("&*", names)
	case "resetchannels":
		r.allChannels, r.channels = false, nil
	case "allcommands":
		return r.apply("+@all", names)
	case "nocommands":
		return r.apply("-@all", names)
	case "reset":
		*r = rights{commands: map[string]bool{}, rules: []string{"-@all"}}
	default:
		return r.applyOperand(rule, names)
	}
	return ""
}

// applyOperand applies a rule that begins with what it is.
func (r *rights) applyOperand(rule string, names *aclNames) (fault string) {
	operand := rule[1:]
	switch rule[0] {
	case '>':
		r.passwords, r.nopass = append(r.passwords, sha256.Sum256([]byte(operand))), false
	case '#':
		sum, err := hex.DecodeString(operand)
		if err != nil || len(sum) != sha256.Size {
			return "the SHA-256 of a password is 64 hexadecimal digits"
		}
		r.passwords, r.nopass = append(r.passwords, [sha256.Size]byte(sum)), false
	case '~':
		return r.addKeys(keyRule{operand, true, true})
	case '%':
		flags, pattern, ok := strings.Cut(operand, "~")
		flags = strings.ToUpper(flags)
		k := keyRule{pattern, strings.Contains(flags, "R"), strings.Contains(flags, "W")}
		if !ok || strings.Trim(flags, "RW") != "" || !k.read && !k.write {
			return "key permissions are %R~pattern, %W~pattern or %RW~pattern"
		}
		return r.addKeys(k)
	case '&':
		r.channels = append(r.channels, operand)
		r.allChannels = r.allChannels || operand == "*"
	case '+', '-':
		return r.applyCommands(rule[0] == '+', strings.ToLower(operand), names)
	case '(':
		return "selectors are not understood here; give the user one set of rules"
	default:
		return "it is no rule that is understood here; they are in the README, under Users"
	}
	return ""
}

func (r *rights) addKeys(k keyRule) (fault string) {
	r.keys = append(r.keys, k)
	r.allKeys = r.allKeys || k == keyRule{"*", true, true}
	return ""
}

// applyCommands applies +name, -name, +@category and -@category.
func (r *rights) applyCommands(may bool, what string, names *aclNames) (fault string) {
	var list []string
	category, isCategory := strings.CutPrefix(what, "@")
	switch {
	case what == "@all":
		r.rules = nil
		if r.commands = nil; !may {
			r.commands = map[string]bool{}
		}
	case isCategory:
		var ok bool
		if list, ok = names.in(category); !ok {
			return "there is no such category of commands"
		}
	default:
		if list = names.named(what); list == nil && !names.inert[what] {
			return "there is no such command"
		}
	}
	if r.commands == nil && !may && len(list) > 0 {
		r.commands = map[string]bool{}
		for _, name := range names.all {
			r.commands[name] = true
		}
	}
	for _, name := range list {
		if r.commands != nil {
			r.commands[name] = may
		}
	}
	r.rules = append(r.rules, map[bool]string{true: "+", false: "-"}[may]+what)
	return ""
}

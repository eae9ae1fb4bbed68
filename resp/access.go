package resp

// Access is what a command does to the keys that it names, as the key
// specifications of Redis's COMMAND INFO tell it.
type Access struct {
	// First, Last and Step are the arguments that are keys, in steps; First 0
	// means none.
	First, Last, Step int
	// Read says that their values are looked at, Write that they are changed.
	// A command that only asks whether a key is there does neither.
	Read, Write bool
}

// AccessOf tells it of a command, its name in any case, that clients or scripts
// may send. One whose keys cannot be told, for it is wrong, has none.
func AccessOf(args [][]byte) Access {
	var buf [maxName]byte
	last := len(args) - 1
	switch string(fold(buf[:], args[0])) {
	case "get", "digest", "ttl", "pttl", "expiretime", "pexpiretime", "getrange", "substr":
		return Access{1, 1, 1, true, false}
	case "mget":
		return Access{1, last, 1, true, false}
	case "strlen", "type":
		return Access{1, 1, 1, false, false}
	case "exists", "watch":
		return Access{1, last, 1, false, false}
	case "set":
		return Access{1, 1, 1, hasWord(args, "get"), true}
	case "setnx", "setex", "psetex", "delex", "delifeq", "expire", "pexpire", "expireat", "pexpireat", "persist", "lpush", "rpush":
		return Access{1, 1, 1, false, true}
	case "getset", "getdel", "getex":
		return Access{1, 1, 1, true, true}
	case "del", "unlink":
		return Access{1, last, 1, false, true}
	case "mset", "msetnx":
		return Access{1, last, 2, false, true}
	case "eval", "evalsha":
		return scriptAccess(args, true)
	case "eval_ro", "evalsha_ro":
		return scriptAccess(args, false)
	}
	return Access{}
}

// scriptAccess is about the keys that a script is called with; what it does to
// them is not known.
func scriptAccess(args [][]byte, write bool) Access {
	if len(args) < 3 {
		return Access{}
	}
	keys, _, fault := scriptKeys(args)
	if fault != "" || len(keys) == 0 {
		return Access{}
	}
	return Access{3, 2 + len(keys), 1, true, write}
}

// hasWord reports whether an option, in any case, is among the arguments behind
// key and value.
func hasWord(args [][]byte, word string) bool {
	var buf [8]byte
	for _, arg := range args[min(3, len(args)):] {
		if string(fold(buf[:], arg)) == word {
			return true
		}
	}
	return false
}

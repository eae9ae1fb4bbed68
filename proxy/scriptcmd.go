package proxy

import "redlock-proxy/resp"

// scriptCommand is SCRIPT. The cache is one for all connections, and the
// commands take effect in the order they are parsed: ioredis sends an EVALSHA
// right behind the EVAL that fills the cache.
func scriptCommand() *command {
	return withSubs("script",
		&command{name: "load", arity: 3, run: scriptLoad},
		&command{name: "exists", arity: -3, run: scriptExists},
		&command{name: "flush", arity: -2, run: scriptFlush},
		&command{name: "kill", arity: 2, run: text("NOTBUSY No scripts in execution right now.")},
		&command{name: "debug", arity: 3, run: scriptDebug},
		&command{name: "help", arity: 2, run: help(
			"SCRIPT LOAD script | EXISTS sha1 [sha1 ...] | FLUSH [ASYNC|SYNC]",
			"Any script that compiles is loaded; running one that is not about a lock is refused.")},
	)
}

func scriptLoad(s *Server, _ *client, args [][]byte, dst []byte) []byte {
	sha, err := s.scripts.Load(args[2])
	if err != nil {
		return resp.AppendError(dst, err.Error())
	}
	return resp.AppendBulkString(dst, sha)
}

func scriptExists(s *Server, _ *client, args [][]byte, dst []byte) []byte {
	dst = resp.AppendArray(dst, len(args)-2)
	for _, sha := range args[2:] {
		var known int64
		if s.scripts.Exists(sha) {
			known = 1
		}
		dst = resp.AppendInt(dst, known)
	}
	return dst
}

func scriptFlush(s *Server, _ *client, args [][]byte, dst []byte) []byte {
	if len(args) > 3 || len(args) == 3 && !is(args[2], "sync") && !is(args[2], "async") {
		return resp.AppendError(dst, "ERR SCRIPT FLUSH only support SYNC|ASYNC option")
	}
	s.scripts.Flush()
	return resp.AppendStatus(dst, "OK")
}

func scriptDebug(_ *Server, _ *client, args [][]byte, dst []byte) []byte {
	switch {
	case is(args[2], "no"):
		return resp.AppendStatus(dst, "OK")
	case is(args[2], "yes"), is(args[2], "sync"):
		return resp.AppendError(dst, notServed("SCRIPT DEBUG", "scripts are not run here but turned into lock operations"))
	}
	return resp.AppendError(dst, "ERR Use SCRIPT DEBUG YES/SYNC/NO")
}

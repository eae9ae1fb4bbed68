package proxy

import (
	"log/slog"
	"time"
)

// ownFiles is how many files the process keeps for itself: its connections to
// the masters, which clients must not use up, its log and its status pages.
const ownFiles = 64

// affordable returns how many clients the limit of open files allows, at most
// wanted. Redis does the same: a client that is turned away knows at once what
// is wrong, one that is not accepted waits for ever.
func affordable(wanted int, files uint64) int {
	if files < 2*ownFiles {
		return min(wanted, max(1, int(files/2)))
	}
	return int(min(uint64(wanted), files-ownFiles))
}

// fitClients lowers c.MaxClients to what the process can have.
func fitClients(c *Config) {
	files, known := openFiles()
	if !known {
		return
	}
	full := c.withDefaults()
	if c.MaxClients = affordable(full.MaxClients, files); c.MaxClients < full.MaxClients {
		full.Logger.Warn("the limit of open files allows fewer clients than --maxclients; raise it (ulimit -n, LimitNOFILE, nofile)",
			"maxclients", c.MaxClients, "open_files", files)
	}
}

// acceptErrors is the trouble with accepting connections. One goroutine, the
// one that accepts, uses it.
type acceptErrors struct {
	episode int       // errors of the present one; 0: all is well
	last    time.Time // error
}

// calm is how long there are no errors when an episode is over: at the limit
// of open files, connections come and go.
const calm = 10 * time.Second

// failed notes an error, and tells of the first of an episode. The listener
// waits after each.
func (e *acceptErrors) failed(log *slog.Logger, err error, now time.Time) {
	if e.episode == 0 || now.Sub(e.last) >= calm {
		log.Error("cannot accept connections, goes on trying; if there are too many open files, raise the limit (ulimit -n) or lower --maxclients", "error", err)
		e.episode = 0
	}
	e.episode++
	e.last = now
}

// accepted notes that a connection was accepted.
func (e *acceptErrors) accepted(log *slog.Logger, now time.Time) {
	if e.episode > 0 && now.Sub(e.last) >= calm {
		log.Info("connections are accepted again", "errors", e.episode)
		e.episode = 0
	}
}

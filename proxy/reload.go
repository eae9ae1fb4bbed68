package proxy

import (
	"context"
	"log/slog"
	"os"
	"time"
)

// Reloadable is what can be read again while the proxy runs. If reading it
// fails, it stays as it is.
type Reloadable interface {
	String() string // what it is, for the log
	Reload() error
	// Changed reports whether it is not what was read last.
	Changed() bool
}

// lookPeriod is how often it is looked whether something has changed. It is read
// at the second look: a certificate and its key are two files.
const lookPeriod = 2 * time.Second

// keepFresh reads everything again when asked to, and what has changed by
// itself, until ctx ends.
func keepFresh(ctx context.Context, all []Reloadable, asked <-chan os.Signal, log *slog.Logger) {
	tick := time.NewTicker(lookPeriod)
	defer tick.Stop()
	list := make([]freshness, len(all))
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
			for i := range all {
				list[i] = freshness{}
				list[i].read(all[i], log)
			}
		case <-tick.C:
			for i := range all {
				list[i].look(all[i], log)
			}
		}
	}
}

// freshness is what is known of one Reloadable.
type freshness struct {
	changed bool   // when it was looked at last
	fault   string // of the last reading, which was logged
}

func (f *freshness) look(r Reloadable, log *slog.Logger) {
	before := f.changed
	f.changed = r.Changed()
	if before && f.changed {
		f.read(r, log)
	}
}

func (f *freshness) read(r Reloadable, log *slog.Logger) {
	err := r.Reload()
	switch {
	case err == nil:
		log.Info("read again", "what", r.String())
		*f = freshness{}
	case err.Error() != f.fault:
		log.Error("cannot read again; what was there stays in force", "what", r.String(), "error", err)
		f.fault = err.Error()
	}
}

package proxy

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// systemd is the service manager that started this process, if one did and
// wants to hear of it (Type=notify).
//
// The proxy is ready when it listens, not when a quorum votes. Whether masters
// are there is not in its hands: a start that waited for them would run into
// the manager's timeout, be repeated, and tell nobody why. From the first
// moment on clients are answered, with an error that says which masters do not
// vote; systemctl status says the same.
type systemd struct {
	locks  Locks
	logger *slog.Logger
	done   sync.WaitGroup
	cancel context.CancelFunc
}

// statusEvery is how often the status is looked at.
const statusEvery = time.Second

// notifySystemd says that the proxy is ready, and from then on how it is. It
// does nothing where no systemd listens.
func notifySystemd(c Config) *systemd {
	s := &systemd{locks: c.Locks, logger: c.Logger}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	status := s.status()
	if s.tell(daemon.SdNotifyReady + "\nSTATUS=" + status) {
		s.done.Go(func() { s.follow(ctx, status) })
	}
	return s
}

// stop ends what notifySystemd began.
func (s *systemd) stop() {
	s.cancel()
	s.done.Wait()
}

// stopping says that the proxy has begun to end. The drain is part of that, so
// TimeoutStopSec has to be longer.
func (s *systemd) stopping(drain time.Duration) {
	status := "shutting down"
	if drain > 0 {
		status = "draining until " + time.Now().Add(drain).Format(time.TimeOnly)
	}
	s.tell(daemon.SdNotifyStopping + "\nSTATUS=" + status)
}

// follow tells when the status is not the one told last. It feeds the watchdog,
// too, right after it has read the state of the locks: a proxy in which that
// hangs is of no use.
func (s *systemd) follow(ctx context.Context, told string) {
	look := time.NewTicker(statusEvery)
	defer look.Stop()
	food, stop := s.watchdog()
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if status := s.status(); status != told {
				told = status
				s.tell("STATUS=" + status)
			}
		case <-food:
			s.status()
			s.tell(daemon.SdNotifyWatchdog)
		}
	}
}

// watchdog ticks twice in the time that the manager allows; never, without one.
func (s *systemd) watchdog() (<-chan time.Time, func()) {
	allowed, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.logger.Warn("no watchdog", "error", err)
	}
	if err != nil || allowed <= 0 {
		return nil, func() {}
	}
	ticker := time.NewTicker(max(allowed/2, time.Millisecond))
	return ticker.C, ticker.Stop
}

// status is a line for systemctl status.
func (s *systemd) status() string {
	q, err := s.locks.DB(0)
	if err != nil {
		return oneLine(err.Error())
	}
	if !q.Ready() {
		return "no locks can be had: " + standing(s.locks, q)
	}
	return "serving: " + standing(s.locks, q)
}

// tell sends one message. It reports whether somebody listens.
func (s *systemd) tell(message string) bool {
	sent, err := daemon.SdNotify(false, message)
	if err != nil {
		s.logger.Warn("cannot notify systemd", "error", err)
	}
	return sent
}

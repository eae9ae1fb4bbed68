package proxy

import (
	"context"
	"net"
	"time"
)

// listen listens for clients. Those that are silent for keepAlive are asked for
// a sign of life, and cut off when three questions, a third of it apart, were
// not answered, as in Redis. Zero asks nobody.
func listen(ctx context.Context, address string, keepAlive time.Duration) (net.Listener, error) {
	config := net.ListenConfig{KeepAlive: -1} // or Go has a default of its own
	if keepAlive > 0 {
		config.KeepAliveConfig = net.KeepAliveConfig{
			Enable: true, Idle: keepAlive, Interval: max(keepAlive/3, time.Second), Count: 3,
		}
	}
	return config.Listen(ctx, "tcp", address)
}

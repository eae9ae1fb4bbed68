package proxy

import (
	"syscall"
	"testing"
	"time"
)

func TestKeepAliveIsThatOfTheConfiguration(t *testing.T) {
	for _, test := range []struct {
		period             time.Duration
		idle, every, count int // seconds; count 0: no questions at all
	}{
		{300 * time.Second, 300, 100, 3},
		{time.Second, 1, 1, 3},
		{0, 0, 0, 0},
	} {
		ln, err := listen(t.Context(), "127.0.0.1:0", test.period)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		dial(t, ln.Addr().String())
		conn, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		rawConn(conn).Control(func(fd uintptr) {
			option := func(level, name int) int {
				value, err := syscall.GetsockoptInt(int(fd), level, name)
				if err != nil {
					t.Error(err)
				}
				return value
			}
			on := option(syscall.SOL_SOCKET, syscall.SO_KEEPALIVE) == 1
			idle, every, count := option(syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE), option(syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL), option(syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT)
			if on != (test.count > 0) || on && (idle != test.idle || every != test.every || count != test.count) {
				t.Errorf("%v: got %v, %d, %d, %d", test.period, on, idle, every, count)
			}
		})
	}
}

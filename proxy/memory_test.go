package proxy

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"redlock-proxy/resp"
)

// wantReleased waits until nothing is held any more.
func wantReleased(t *testing.T, s *Server) {
	t.Helper()
	eventually(t, "nothing is held", func() bool { return s.memory.held.Load() == 0 })
}

// half is the beginning of a command with an argument of 1 MB.
var half = "*2\r\n$4\r\nECHO\r\n$1000000\r\n" + strings.Repeat("x", 999_999)

func TestTogetherClientsHoldNoMoreThanAllowed(t *testing.T) {
	for name, text := range map[string]string{
		"half a command each":       half,
		"transactions":              "MULTI\r\n" + strings.Repeat("SET k "+strings.Repeat("v", 50_000)+"\r\n", 15),
		"replies that nobody reads": strings.Repeat("*2\r\n$4\r\nECHO\r\n$50000\r\n"+strings.Repeat("x", 50_000)+"\r\n", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			const limit, clients = 2 << 20, 6
			cfg, log := watched(Config{MaxMemory: limit})
			s, addr := serve(t, cfg, newFakeQuorum())
			good := dial(t, addr)
			good.send("PING")
			good.want("+PONG")
			var all []*testConn
			for range clients {
				c := dial(t, addr)
				all = append(all, c)
				c.SetReadBuffer(4 << 10)
				go io.WriteString(c.TCPConn, text)
			}
			eventually(t, "some are cut off, and the others within the limit", func() bool {
				return s.cfg.Metrics.door.cut[cutMemory].Load() > 0 && s.memory.held.Load() <= limit
			})
			eventually(t, "it is logged", func() bool { return strings.Contains(log.String(), "--maxmemory-clients") })
			good.send("PING")
			good.want("+PONG")
			for _, c := range all {
				c.Close()
			}
			wantReleased(t, s)
		})
	}
}

// TestWhatIsHeldIsCountedBothWays: after traffic of all kinds, and every way to
// end, nothing is left in the account.
func TestWhatIsHeldIsCountedBothWays(t *testing.T) {
	s, addr := serveAny(t, Config{MaxMemory: 1 << 30}, &instantQuorum{})
	for i, text := range []string{
		half + "x\r\nPING\r\n", half, half[:100_000] + "\x00", strings.Repeat("SET k v PX 1000\r\n", 20_000),
		"MULTI\r\n" + strings.Repeat("SET k "+strings.Repeat("v", 50_000)+"\r\n", 10) + "EXEC\r\n",
		"ECHO " + strings.Repeat("x", 60_000) + "\r\n", strings.Repeat("x", 70_000), "*1\r\n$5\r\n" + half,
		string(resp.AppendArray(nil, 1000)) + strings.Repeat("$100\r\n"+strings.Repeat("k", 100)+"\r\n", 900),
	} {
		for _, end := range []func(c *testConn){
			func(c *testConn) { c.CloseWrite(); io.Copy(io.Discard, c.r) },
			func(c *testConn) { c.SetLinger(0) },
			func(c *testConn) { c.send("QUIT"); c.CloseWrite(); io.Copy(io.Discard, c.r) },
		} {
			c := dial(t, addr)
			done := make(chan struct{})
			go func() { defer close(done); fmt.Fprint(c.TCPConn, text) }()
			if i%2 == 0 {
				<-done
			}
			end(c)
			c.Close()
			<-done
		}
	}
	wantReleased(t, s)
}

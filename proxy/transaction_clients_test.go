package proxy

import (
	"fmt"
	"strings"
	"testing"

	"redlock-proxy/redlock"
)

// eachMasters runs a test over masters in memory and over real ones.
func eachMasters(t *testing.T, run func(t *testing.T, addr string)) {
	t.Run("embedded", func(t *testing.T) { run(t, serveEmbedded(t)) })
	t.Run("redis", func(t *testing.T) {
		var masters []redlock.MasterAddr
		for range 3 {
			masters = append(masters, redlock.MasterAddr{Address: startRedis(t)})
		}
		run(t, serveMasters(t, redlock.ClusterConfig{Masters: masters}))
	})
}

// What StackExchange.Redis sends to servers before 8.4, byte for byte: UNWATCH
// or the transaction goes out when GET is answered.
func TestExchangesOfStackExchangeRedis(t *testing.T) {
	const (
		look    = "*2\r\n$5\r\nWATCH\r\n$1\r\nk\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"
		unwatch = "*1\r\n$7\r\nUNWATCH\r\n"
		release = "*1\r\n$5\r\nMULTI\r\n*2\r\n$6\r\nUNLINK\r\n$1\r\nk\r\n*1\r\n$4\r\nEXEC\r\n"
		extend  = "*1\r\n$5\r\nMULTI\r\n*3\r\n$6\r\nEXPIRE\r\n$1\r\nk\r\n$3\r\n200\r\n*1\r\n$4\r\nEXEC\r\n"
		millis  = "*1\r\n$5\r\nMULTI\r\n*3\r\n$7\r\nPEXPIRE\r\n$1\r\nk\r\n$6\r\n200500\r\n*1\r\n$4\r\nEXEC\r\n"
	)
	eachMasters(t, func(t *testing.T, addr string) {
		c, other := dial(t, addr), dial(t, addr)
		write := func(s string) {
			t.Helper()
			if _, err := c.Write([]byte(s)); err != nil {
				t.Fatal(err)
			}
		}
		c.send("SET k mine NX PX 100000")
		c.want("+OK")
		write(look)
		c.want("+OK", "$4", "mine")
		write(extend)
		c.want("+OK", "+QUEUED", "*1", ":1")
		write(look)
		c.want("+OK", "$4", "mine")
		write(millis)
		c.want("+OK", "+QUEUED", "*1", ":1")
		write(look)
		c.want("+OK", "$4", "mine")
		write(unwatch) // the application has another token
		c.want("+OK")
		write(look)
		c.want("+OK", "$4", "mine")
		other.send("DEL k", "SET k theirs NX PX 100000")
		other.want(":1", "+OK")
		write(release)
		c.want("+OK", "+QUEUED", "*-1")
		c.send("GET k")
		c.wantBulk("theirs")
		other.send("SET k mine PX 100000")
		other.want("+OK")
		write(look)
		c.want("+OK", "$4", "mine")
		write(release)
		c.want("+OK", "+QUEUED", "*1", ":1")
		write(look + unwatch) // gone
		c.want("+OK", "$-1", "+OK")
	})
}

// redis++ opens a connection for each release and extend, and closes it without
// UNWATCH where the lock is not its own.
func TestExchangesOfRedisPlusPlus(t *testing.T) {
	eachMasters(t, func(t *testing.T, addr string) {
		owner := dial(t, addr)
		owner.send("SET k mine PX 100000 NX")
		owner.want("+OK")
		for _, test := range []struct {
			send, want []string
		}{
			{[]string{"MULTI", "PEXPIRE k 200000", "EXEC"}, []string{"+OK", "+QUEUED", "*1", ":1"}},
			{nil, nil},
			{[]string{"MULTI", "DEL k", "EXEC"}, []string{"+OK", "+QUEUED", "*1", ":1"}},
		} {
			c := dial(t, addr)
			c.send("WATCH k")
			c.want("+OK")
			c.send("GET k")
			c.want("$4", "mine")
			if test.send != nil {
				c.send(test.send...)
				c.want(test.want...)
			}
			c.Close()
		}
		owner.send("EXISTS k")
		owner.want(":0")
	})
}

// redis-py 2 sends each command on its own, then the transaction in one write.
func TestExchangesOfRedisPy2(t *testing.T) {
	eachMasters(t, func(t *testing.T, addr string) {
		c := dial(t, addr)
		for _, step := range []struct{ send, want string }{
			{"SETNX k mine", ":1"}, {"PEXPIRE k 100000", ":1"}, {"WATCH k", "+OK"}, {"GET k", "$4 mine"},
			{"MULTI | DEL k | EXEC", "+OK +QUEUED *1 :1"}, {"WATCH k", "+OK"}, {"GET k", "$-1"}, {"UNWATCH", "+OK"},
		} {
			c.send(strings.Split(step.send, " | ")...)
			c.want(strings.Fields(step.want)...)
		}
	})
}

// A lock that lapsed and was taken again with the same value, which all threads
// of a process may use, is another lock.
func TestSameValueTakenAgainIsNotReleased(t *testing.T) {
	eachMasters(t, func(t *testing.T, addr string) {
		c, other := dial(t, addr), dial(t, addr)
		c.send("SET k uuid NX PX 1500")
		c.want("+OK")
		c.send("WATCH k", "GET k")
		c.want("+OK", "$4", "uuid")
		other.send("WATCH k")
		other.want("+OK")
		eventually(t, "the lock lapses and is taken again", func() bool {
			other.send("SET k uuid NX PX 1500")
			line, _ := other.r.ReadString('\n')
			return line == "+OK\r\n"
		})
		c.send("MULTI", "DEL k", "EXEC", "EXISTS k")
		c.want("+OK", "+QUEUED", "*-1", ":1")
	})
}

// Of many that read the same value, one can change it.
func TestOneOfManyTransactionsWins(t *testing.T) {
	eachMasters(t, func(t *testing.T, addr string) {
		const clients, rounds = 8, 10
		setup := dial(t, addr)
		for round := range rounds {
			setup.send(fmt.Sprintf("SET k r%d PX 100000", round))
			setup.want("+OK")
			won := make(chan int, clients)
			conns := make([]*testConn, clients)
			for i := range conns {
				conns[i] = dial(t, addr)
				conns[i].send("WATCH k", "GET k")
				conns[i].want("+OK", "$2", fmt.Sprintf("r%d", round))
			}
			for i, c := range conns {
				go func() {
					c.send("MULTI", fmt.Sprintf("SET k w%d PX 100000", i), "EXEC")
					n := 0
					for range 3 {
						line, err := c.r.ReadString('\n')
						if err != nil || line == "*-1\r\n" {
							break
						}
						if line == "*1\r\n" {
							n = 1
						}
					}
					won <- n
				}()
			}
			sum := 0
			for range conns {
				sum += <-won
			}
			if sum != 1 {
				t.Fatalf("round %d: %d transactions won", round, sum)
			}
		}
	})
}

// A message goes out if the transaction is run, and not otherwise.
func TestTransactionPublishes(t *testing.T) {
	eachMasters(t, func(t *testing.T, addr string) {
		c, other, listener := dial(t, addr), dial(t, addr), dial(t, addr)
		listener.send("SUBSCRIBE ch")
		listener.want("*3", "$9", "subscribe", "$2", "ch", ":1")
		c.send("SET k v PX 100000", "WATCH k")
		c.want("+OK", "+OK")
		other.send("SET k w PX 100000")
		other.want("+OK")
		c.send("MULTI", "DEL k", "PUBLISH ch lost", "EXEC")
		c.want("+OK", "+QUEUED", "+QUEUED", "*-1")
		c.send("MULTI", "PUBLISH ch discarded", "DISCARD", "MULTI", "DEL k", "PUBLISH ch freed", "EXEC")
		c.want("+OK", "+QUEUED", "+OK", "+OK", "+QUEUED", "+QUEUED", "*2", ":1", ":1")
		c.send("MULTI", "PUBLISH ch alone", "EXEC")
		c.want("+OK", "+QUEUED", "*1", ":1")
		listener.want("*3", "$7", "message", "$2", "ch", "$5", "freed", "*3", "$7", "message", "$2", "ch", "$5", "alone")
	})
}

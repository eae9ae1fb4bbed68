package harness

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// FreePort returns a port of 127.0.0.1 that nobody listens on.
//
// It lies below the range from which the kernel takes the ports of outgoing
// connections (from 32768 on Linux): a proxy that redials a killed master's
// port in that range may be connected to itself, or keep the master from
// coming back.
func FreePort() (int, error) { return FreePortOf("127.0.0.1") }

// FreePortOf is FreePort for another address of this machine.
func FreePortOf(host string) (int, error) {
	for range 100 {
		port := 12000 + rand.IntN(20000)
		ln, err := net.Listen("tcp", HostAddr(host, port))
		if err == nil {
			return port, ln.Close()
		}
	}
	return 0, errors.New("no free port found in 100 tries")
}

// LocalAddr is the address of a port of 127.0.0.1.
func LocalAddr(port int) string { return HostAddr("127.0.0.1", port) }

// HostAddr is the address of a port of host.
func HostAddr(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

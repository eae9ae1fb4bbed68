package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// server is one of the two that are compared.
type server struct {
	name    string // "proxy" or "plain"
	addr    string
	control string // URL where faults are asked for; empty: there are none
}

// serversFromEnvironment returns the proxy, then the plain server.
func serversFromEnvironment() [2]server {
	addr := func(name string) string {
		host, port := os.Getenv(name+"_HOST"), os.Getenv(name+"_PORT")
		if host == "" || port == "" {
			log.Fatalf("%s_HOST and %s_PORT are not set; this suite is started by integration/clients/run", name, name)
		}
		return net.JoinHostPort(host, port)
	}
	return [2]server{
		{name: "proxy", addr: addr("PROXY"), control: os.Getenv("CONTROL_URL")},
		{name: "plain", addr: addr("PLAIN")},
	}
}

// fault asks for a fault. The plain server has none.
func (s server) fault(path string) error {
	if s.control == "" {
		return nil
	}
	reply, err := http.Post(s.control+path, "", nil)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, _ := io.ReadAll(reply.Body)
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, text)
	}
	return nil
}

// pttl is the remaining time of a key in milliseconds, by PTTL.
func (s server) pttl(key string) (int, error) {
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	fmt.Fprintf(conn, "*2\r\n$4\r\nPTTL\r\n$%d\r\n%s\r\n", len(key), key)
	reply, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.Trim(reply, ":\r\n"))
}

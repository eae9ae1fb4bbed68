package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// answering listens, and answers each of the commands it expects with a line.
func answering(t *testing.T, dialogue ...[2]string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		r := bufio.NewReader(conn)
		for _, turn := range dialogue {
			got := make([]byte, len(turn[0]))
			if _, err := io.ReadFull(r, got); err != nil || string(got) != turn[0] {
				t.Errorf("got %q, %v, want %q", got, err, turn[0])
				return
			}
			io.WriteString(conn, turn[1])
		}
		io.Copy(io.Discard, r) // until the client goes
	}()
	return ln.Addr().String()
}

func TestHealthcheck(t *testing.T) {
	const ping = "*1\r\n$4\r\nPING\r\n"
	const auth = "*3\r\n$4\r\nAUTH\r\n$5\r\nalice\r\n$2\r\npw\r\n"
	tests := []struct {
		name     string
		password string
		dialogue [][2]string
		fault    string // empty: healthy
	}{
		{"pong", "", [][2]string{{ping, "+PONG\r\n"}}, ""},
		{"pong after login", "pw", [][2]string{{auth, "+OK\r\n"}, {ping, "+PONG\r\n"}}, ""},
		{"wants a password we do not know", "", [][2]string{{ping, "-NOAUTH Authentication required.\r\n"}}, ""},
		{"wrong password", "pw", [][2]string{{auth, "-WRONGPASS invalid\r\n"}}, "WRONGPASS invalid"},
		{"full", "", [][2]string{{ping, "-ERR max number of clients reached\r\n"}}, "ERR max number of clients reached"},
		{"not a proxy", "", [][2]string{{ping, "HTTP/1.1 400 Bad Request\r\n"}}, `answered PING with "HTTP/1.1 400 Bad Request"`},
		{"endless line", "", [][2]string{{ping, strings.Repeat("x", 1<<16)}}, "buffer full"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Healthcheck(t.Context(), answering(t, tt.dialogue...), nil, "alice", tt.password)
			if tt.fault == "" && err != nil {
				t.Errorf("got %v, want healthy", err)
			}
			if tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
				t.Errorf("got %v, want %s", err, tt.fault)
			}
		})
	}
}

func TestHealthcheckOfNobody(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	ln.Close()
	if Healthcheck(t.Context(), address, nil, "", "") == nil {
		t.Error("healthy")
	}
}

func TestHealthcheckDoesNotWaitForEver(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := Healthcheck(ctx, answering(t), nil, "", ""); err == nil {
		t.Error("healthy")
	}
}

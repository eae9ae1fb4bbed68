package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"redlock-proxy/resp"
)

// healthTimeout is less than what the image's HEALTHCHECK allows, so that the
// reason is told.
const healthTimeout = 3 * time.Second

// Healthcheck connects to the proxy at address (host:port), with TLS unless
// config is nil, logs in if there is a password, and returns nil if it answers PING. It says nothing of the
// masters: a proxy that is waiting for them must not be restarted for it.
//
// A proxy that asks for a password or a certificate which is not known here is
// alive too.
func Healthcheck(ctx context.Context, address string, config *tls.Config, user, password string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if config != nil {
		conn = tls.Client(conn, config)
	}
	replies := bufio.NewReader(conn)
	if password != "" {
		if _, err := ask(conn, replies, "AUTH", user, password); err != nil && !wantsCertificate(err) {
			return err
		}
	}
	reply, err := ask(conn, replies, "PING")
	switch {
	case wantsCertificate(err):
		return nil
	case strings.HasPrefix(reply, "-NOAUTH "):
		return nil
	case err == nil && reply != "+PONG":
		return fmt.Errorf("answered PING with %q", reply)
	}
	return err
}

// wantsCertificate reports whether the peer speaks TLS, but not with who does not
// show a better certificate.
func wantsCertificate(err error) bool {
	var told *net.OpError
	return errors.As(err, &told) && told.Op == "remote error" // crypto/tls's word for an alert
}

// ask sends one command and returns the line it is answered with; with it an
// error if that line is one.
func ask(conn net.Conn, replies *bufio.Reader, args ...string) (string, error) {
	request := resp.AppendArray(nil, len(args))
	for _, arg := range args {
		request = resp.AppendBulkString(request, arg)
	}
	if _, err := conn.Write(request); err != nil {
		return "", err
	}
	line, err := replies.ReadSlice('\n') // bounded by the reader's buffer
	if err != nil {
		return "", err
	}
	reply := strings.TrimRight(string(line), "\r\n")
	if text, failed := strings.CutPrefix(reply, "-"); failed {
		return reply, errors.New(text)
	}
	return reply, nil
}

package resp

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// record is one TLS record.
func record(body []byte) []byte {
	return append([]byte{23, 3, 3, byte(len(body) >> 8), byte(len(body))}, body...)
}

// pairOf is both ends of a TCP connection.
func pairOf(t *testing.T) (client, server net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if client, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func TestRecordSize(t *testing.T) {
	whole := record([]byte("abc"))
	tests := []struct {
		b    []byte
		want int
	}{
		{nil, 0}, {whole[:1], 0}, {whole[:4], 0}, {whole[:7], 0}, {whole, 8}, {append(whole, whole...), 8},
		{record(nil), 5}, {[]byte("P"), 1}, {[]byte("*1\r\n$4"), 6}, {[]byte{22, 2}, 2}, {[]byte{128, 3}, 2},
		{[]byte{23, 3, 3, 0x48, 0x01}, 5},
	}
	for _, tt := range tests {
		if got := recordSize(tt.b); got != tt.want {
			t.Errorf("%q: got %d, want %d", tt.b, got, tt.want)
		}
	}
}

func TestRecordsComeOneByOneAndWhole(t *testing.T) {
	client, server := pairOf(t)
	r := NewRecords(server)
	first, second := record(bytes.Repeat([]byte{1}, 9000)), record([]byte("x"))
	go func() {
		all := append(append([]byte(nil), first...), second...)
		for len(all) > 0 {
			n := min(700, len(all))
			client.Write(all[:n])
			all = all[n:]
		}
	}()
	for _, want := range [][]byte{first, second} {
		if can, err := r.Await(); !can || err != nil {
			t.Fatal(can, err)
		}
		var got []byte
		for _, size := range []int{5, 100, 1 << 20} {
			if len(got) == len(want) {
				break
			}
			p := make([]byte, size)
			n, err := r.Read(p)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, p[:n]...)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("got %d bytes, want %d", len(got), len(want))
		}
	}
	server.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if _, err := r.Await(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if r.unread.data != nil {
		t.Errorf("%d bytes are held while it waits", cap(r.unread.data))
	}
	server.SetReadDeadline(time.Time{})
	client.Write(first[:100])
	client.Close()
	if _, err := r.Await(); err != io.ErrUnexpectedEOF {
		t.Errorf("at the end in a record: got %v", err)
	}
}

// TestATLSConnHoldsNothingBack: whatever the sizes of records and reads, what has
// been sent can be read without a further byte from the client.
func TestATLSConnHoldsNothingBack(t *testing.T) {
	client, server := pairOf(t)
	certificate := testCertificate(t)
	c := tls.Client(client, &tls.Config{InsecureSkipVerify: true})
	s := tls.Server(recordsConn{server, NewRecords(server)}, &tls.Config{Certificates: []tls.Certificate{certificate}})
	go c.Handshake()
	if err := s.Handshake(); err != nil {
		t.Fatal(err)
	}
	for _, sizes := range [][]int{{1}, {1, 2, 3}, {16384}, {16385}, {40000, 1}, {5, 16384, 5}} {
		total := 0
		for _, n := range sizes {
			total += n
			if _, err := c.Write(make([]byte, n)); err != nil {
				t.Fatal(err)
			}
		}
		s.SetReadDeadline(time.Now().Add(5 * time.Second))
		p := make([]byte, 32<<10)
		for got := 0; got < total; {
			n, err := s.Read(p)
			if err != nil {
				t.Fatalf("%v: %v after %d bytes", sizes, err, got)
			}
			got += n
		}
	}
}

// recordsConn reads by records.
type recordsConn struct {
	net.Conn
	*Records
}

func (c recordsConn) Read(p []byte) (int, error) { return c.Records.Read(p) }

package conf

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func announce(t *testing.T, address string, args ...string) string {
	t.Helper()
	c := parse(t, append(args, "--listen", address))
	var b bytes.Buffer
	c.Announce(&b, c.Logger(&b), "v1", strings.Replace(address, "0.0.0.0", "[::]", 1), "")
	return b.String()
}

func TestAnnounceEmbedded(t *testing.T) {
	got := announce(t, "127.0.0.1:6380")
	want := `redlock-proxy v1
  listening 127.0.0.1:6380
  masters   5 embedded, in this process's memory: their locks are gone when it stops
            (real ones: --masters host:port,host:port,host:port)
  quorum    3 of 5, answered within 50ms
  try       redis-cli -p 6380 set my-lock token NX PX 30000
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestAnnounceMasters(t *testing.T) {
	got := announce(t, "0.0.0.0:6379", "--masters=a,rediss://u:hunter2@b,c:7", "--requirepass=hunter2", "--user=alice", "--metrics-addr=:9000", "--metrics-password=hunter2")
	want := `redlock-proxy v1
  listening 0.0.0.0:6379, with a password
  masters   a:6379, b:6379 (TLS), c:7
  quorum    2 of 3, answered within 50ms
  status    http://127.0.0.1:9000/ in a browser, /metrics, /healthz, /readyz
  try       redis-cli -p 6379 --user alice --askpass set my-lock token NX PX 30000
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestAnnounceProtectedMode(t *testing.T) {
	got := announce(t, "10.0.0.1:6379")
	for _, want := range []string{
		"listening 10.0.0.1:6379, for this machine only until a password is set (protected mode)\n",
		"redis-cli -h 10.0.0.1 -p 6379 set",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%swant %q in it", got, want)
		}
	}
}

func TestAnnounceJSON(t *testing.T) {
	got := announce(t, "127.0.0.1:6380", "--log-format=json", "--embedded-masters=2")
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != 2 {
		t.Fatalf("got %d lines, want the address and a warning:\n%s", len(lines), got)
	}
	var first, second map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(lines[1]), &second); err != nil {
		t.Fatal(err)
	}
	if first["address"] != "127.0.0.1:6380" || first["quorum"] != 2.0 || second["level"] != "WARN" {
		t.Errorf("got %v and %v", first, second)
	}
}

func TestAnnounceIsQuietAtWarn(t *testing.T) {
	if got := announce(t, "127.0.0.1:6380", "--log-level=warn"); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestLinkedVersionWins(t *testing.T) {
	if got := BuildVersion("v9"); got != "v9" {
		t.Errorf("got %q", got)
	}
	if got := BuildVersion(""); got == "" {
		t.Error("no version at all")
	}
}

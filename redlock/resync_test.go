package redlock

import (
	"fmt"
	"strings"
	"testing"
)

func TestBatchesAreBoundedInKeysAndBytes(t *testing.T) {
	small, large := make([]string, 1000), strings.Repeat("k", syncBytes)
	for _, tt := range []struct {
		names []string
		want  int
	}{
		{nil, 0},
		{small[:3], 3},
		{small, syncBatch},
		{[]string{large, "a"}, 1},
		{[]string{"a", large, "b"}, 2},
	} {
		if got := batchOf(tt.names); got != tt.want {
			t.Errorf("%d names: a batch of %d, want %d", len(tt.names), got, tt.want)
		}
	}
}

// Values of any size are copied, a bounded number of bytes at a time.
func TestLargeValuesAreResynchronised(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	const n = 600
	value := func(i int) string {
		if i%20 == 0 {
			return strings.Repeat(fmt.Sprint(i, "."), syncBytes/2)
		}
		return fmt.Sprint(i)
	}
	for _, s := range servers {
		client := s.client()
		for i := range n {
			do(t, client, "SET", fmt.Sprint("key-", i), value(i), "PX", "60000")
		}
	}
	servers[1].kill()
	servers[1].start()
	awaitVoters(t, c, "13", "")
	awaitVoters(t, c, "123", "")
	client := servers[1].client()
	for i := range n {
		got, err := do(t, client, "GET", fmt.Sprint("key-", i)).ToString()
		if err != nil || got != value(i) {
			t.Fatalf("key %d: %d bytes, error %v, want %d", i, len(got), err, len(value(i)))
		}
	}
}

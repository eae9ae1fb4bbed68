package redlock

import (
	"math"
	"testing"
)

func TestPadAddsDriftAndSlack(t *testing.T) {
	p := padding{ppm: 500, maxSlack: 50}
	tests := []struct{ ttl, want int64 }{
		{1, 1 + 3 + 10},
		{100, 100 + 3 + 10},
		{200, 200 + 3 + 20},
		{1000, 1000 + 3 + 50},
		{30_000, 30_000 + 15 + 3 + 50},
		{3_590_000, 3_590_000 + 1795 + 3 + 50}, // must be gone before an hour is over
		{31_557_600_000_000, 31_557_600_000_000 + 15_778_800_000 + 3 + 50},
		{math.MaxInt64 - 5, math.MaxInt64},
	}
	for _, tt := range tests {
		if got := p.pad(tt.ttl); got != tt.want {
			t.Errorf("pad(%d) = %d, want %d", tt.ttl, got, tt.want)
		}
	}
}

func TestUnpadIsTheLargestTTLThatFits(t *testing.T) {
	p := padding{ppm: 500, maxSlack: 50}
	for ttl := int64(2); ttl < 20_000; ttl++ {
		stored := p.pad(ttl)
		if got := p.unpad(stored); p.pad(got) > stored || p.pad(got+1) <= stored {
			t.Fatalf("unpad(%d) = %d, pad gives %d and %d", stored, got, p.pad(got), p.pad(got+1))
		}
	}
	for _, ttl := range []int64{1, 86_400_000, 31_557_600_000_000, 1 << 60} {
		if got := p.unpad(p.pad(ttl)); got != ttl {
			t.Errorf("unpad(pad(%d)) = %d", ttl, got)
		}
	}
	for _, remaining := range []int64{0, 1, 5, 13} {
		if got := p.unpad(remaining); got != 1 {
			t.Errorf("unpad(%d) = %d, want 1: the key is still there", remaining, got)
		}
	}
	if got := p.unpad(NoTTL); got != NoTTL {
		t.Errorf("unpad(NoTTL) = %d", got)
	}
}

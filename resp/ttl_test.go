package resp

import (
	"math"
	"strconv"
	"testing"
)

func TestParseIntTakesWhatRedisTakes(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 10, 123456789, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1} {
		if got, ok := parseInt([]byte(strconv.FormatInt(n, 10))); !ok || got != n {
			t.Errorf("parseInt(%d) = %d, %v", n, got, ok)
		}
	}
	for _, s := range []string{
		"", "-", "+1", "-0", "00", "01", "-01", " 1", "1 ", "1.0", "1e3", "0x1", "1_000", "١",
		"9223372036854775808", "-9223372036854775809", "18446744073709551616", "18446744073709551617", "99999999999999999999",
	} {
		if got, ok := parseInt([]byte(s)); ok {
			t.Errorf("parseInt(%q) = %d", s, got)
		}
	}
}

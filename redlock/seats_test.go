package redlock

import "testing"

func TestWhichRoundsGetVotesWhenSeatsChange(t *testing.T) {
	seated := func(set string, masters ...int) *seats { return newSeats(masters, nil, set) }
	for name, tt := range map[string]struct {
		began, present *seats
		want           bool
	}{
		"before any record, of the same masters": {seated("", 0, 1, 2), seated("s", 2, 0, 1), true},
		"before any record, of others":           {seated("", 0, 1, 2), seated("s", 0, 1, 3), false},
		"before any record, of fewer":            {seated("", 0, 1), seated("s", 0, 1, 2), false},
		"a place that nobody was known at":       {seated("s", 0, 1, nobody), seated("s", 0, 1, 2), true},
		"a place that nobody is known at now":    {seated("s", 0, 1, 2), seated("s", 0, 1, nobody), false},
		"another one at a place":                 {seated("s", 0, 1, 2), seated("s", 0, 1, 3), false},
		"the same masters in another set":        {seated("s", 0, 1, nobody), seated("t", 0, 1, nobody), false},
		"a larger set":                           {seated("s", 0, 1, nobody), seated("s", 0, 1, 2, 3), false},
	} {
		if got := tt.began.hold(tt.present); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

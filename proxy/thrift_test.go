package proxy

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

const mega = 1 << 20

// thriftOf is a thrift over made-up memory: release gives back all that is spare
// but what is stuck.
func thriftOf(u *usage, stuck uint64) (t *thrift, released *int) {
	released = new(int)
	return &thrift{
		measure: func() usage { return *u },
		release: func() { *released++; u.spare = stuck },
	}, released
}

func TestMemoryIsGivenBackOnceItIsQuiet(t *testing.T) {
	u := usage{}
	th, released := thriftOf(&u, 0)
	for range 100 {
		u = usage{allocated: u.allocated + mega, used: 20 * mega, spare: 80 * mega}
		th.look()
	}
	if *released > 0 {
		t.Fatalf("%d times under load, want never", *released)
	}
	for range calmLooks - 1 {
		th.look()
	}
	if *released > 0 {
		t.Fatal("released before it was quiet for some time")
	}
	for range 100 {
		u.allocated += calmSize / 4 // somebody looks at the metrics
		th.look()
	}
	if *released != 1 {
		t.Errorf("released %d times, want once", *released)
	}
}

func TestLittleIsNotGivenBack(t *testing.T) {
	for _, u := range []usage{
		{used: 1 * mega, spare: minSpare - 1},
		{used: 800 * mega, spare: 99 * mega},
	} {
		th, released := thriftOf(&u, 0)
		for range 100 {
			th.look()
		}
		if *released > 0 {
			t.Errorf("%d MB of %d released %d times, want never", u.spare/mega, u.used/mega, *released)
		}
	}
}

// TestWhatCannotBeGivenBackIsNoReasonToTryAgain, but what comes on top is.
func TestWhatCannotBeGivenBackIsNoReasonToTryAgain(t *testing.T) {
	u := usage{used: 20 * mega, spare: 80 * mega}
	th, released := thriftOf(&u, 60*mega)
	for range 100 {
		th.look()
	}
	if *released != 1 {
		t.Fatalf("released %d times, want once", *released)
	}
	u.spare += minSpare
	for range 100 {
		th.look()
	}
	if *released != 2 {
		t.Errorf("released %d times, want once more", *released)
	}
}

func TestThriftEndsWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := usage{used: 20 * mega, spare: 80 * mega}
		th, released := thriftOf(&u, 0)
		ctx, cancel := context.WithCancel(t.Context())
		go th.follow(ctx)
		time.Sleep(calmLooks*thriftLook + thriftLook/2)
		cancel()
		synctest.Wait()
		if *released != 1 {
			t.Errorf("released %d times, want once", *released)
		}
	})
}

// TestWhoSetsGOGCHasTheSay about garbage, without load as well.
func TestWhoSetsGOGCHasTheSay(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(123))
	for _, gogc := range []string{"", "100", "off"} {
		t.Setenv("GOGC", gogc)
		if relaxed := relaxGC(0); relaxed != (gogc == "") {
			t.Errorf("GOGC=%s: relaxed is %v", gogc, relaxed)
		}
	}
	if got := debug.SetGCPercent(123); got != gcPercent {
		t.Errorf("got %d%%, want %d%%", got, gcPercent)
	}
}

// TestGarbageIsSpareUntilItIsReleased: what the runtime says is understood.
func TestGarbageIsSpareUntilItIsReleased(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	before := measureUsage()
	for range 32 {
		garbage = make([]byte, mega)
	}
	garbage = nil
	between := measureUsage()
	if got := between.allocated - before.allocated; got < 32*mega || got > 40*mega {
		t.Errorf("%d bytes were allocated, want some 32 MB", got)
	}
	if between.spare < 32*mega {
		t.Errorf("%d bytes are spare, want at least 32 MB", between.spare)
	}
	debug.FreeOSMemory()
	if after := measureUsage(); after.spare > between.spare/2 {
		t.Errorf("%d bytes of %d are spare behind a release, want little", after.spare, between.spare)
	}
}

var garbage []byte

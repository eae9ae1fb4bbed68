package proxy

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// thrift gives memory back to the system when the proxy has become quiet.
// [relaxGC] lets garbage become several times what is alive, which is worth it
// under load; but without load nothing comes that would collect it, and for as
// long as connections say nothing, it would be most of what they cost.
//
// It costs a collection, so there has to be much to give, and much new since
// the last time: while nothing changes, it does nothing. To give memory back
// keeps one CPU busy for some 0.1 ms a megabyte; other goroutines go on meanwhile,
// if there is another CPU.
type thrift struct {
	measure func() usage
	release func()

	calm int    // how often in a row little was allocated
	seen uint64 // allocated when it last looked
	kept uint64 // what has been spare since the last release, and is no reason for another
}

// usage is the memory of this process, in bytes.
type usage struct {
	allocated uint64 // on the heap, ever
	used      uint64 // what was alive at the last collection, and stacks
	spare     uint64 // garbage since then, and what is free and still resident
}

const (
	thriftLook = time.Second
	// calmLooks is how often little has to have been allocated in a row.
	calmLooks = 5
	// calmSize is little: a hundred commands, or a look at the metrics.
	calmSize = 512 << 10
	// minSpare is the least that is worth a collection.
	minSpare = 8 << 20
	// spareShare is how much of the used memory may be spare besides: an eighth.
	spareShare = 8
)

func newThrift(s *Server) *thrift {
	return &thrift{measure: measureUsage, release: func() {
		s.rest()
		debug.FreeOSMemory()
	}}
}

// follow looks now and then, until ctx ends.
func (t *thrift) follow(ctx context.Context) {
	ticker := time.NewTicker(thriftLook)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			t.look()
		}
	}
}

// look gives memory back if it is time to.
func (t *thrift) look() {
	now := t.measure()
	t.calm++
	if now.allocated-t.seen > calmSize {
		t.calm = 0
	}
	t.seen, t.kept = now.allocated, min(t.kept, now.spare)
	if t.calm < calmLooks || now.spare < t.kept+max(minSpare, now.used/spareShare) {
		return
	}
	t.release()
	now = t.measure()
	t.seen, t.kept = now.allocated, now.spare
}

// measureUsage asks the runtime, without stopping it.
func measureUsage() usage {
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"},
	}
	metrics.Read(samples)
	value := func(i int) uint64 { return samples[i].Value.Uint64() }
	allocated, live, objects, free, stacks := value(0), value(1), value(2), value(3), value(4)
	return usage{allocated: allocated, used: live + stacks, spare: objects - min(live, objects) + free}
}

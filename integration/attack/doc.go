//go:build linux

// Attack does to redlock-proxy what hostile clients can do, while well-behaved
// ones use locks, and shows what that costs them.
//
//	cd integration && go run ./attack            # about four minutes
//	cd integration && go run ./attack -quick     # a few seconds, for CI
//	cd integration && go run ./attack -only half
//
// Each attack has a fixed rate of events: commands, writes or connections. Its
// baseline is the same rate of well-behaved ones, of the same size. The victims
// acquire and release locks at a fixed rate on connections of their own; their
// latency counts from when a cycle was due. Attacker and victims are processes
// that are pinned to a CPU each, the proxy and its three masters run where they
// like. Each measurement has a proxy of its own, whose memory is watched.
//
// The exit code is 1 if a victim got anything but the right reply, an attack
// did not take place, the proxy died, or its memory grew by more than its limits
// add up to. With -quick nothing else is looked at; times mean nothing then.
package main

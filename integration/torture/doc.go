//go:build linux

// Torture breaks everything around redlock-proxy, at random and all the time,
// and looks whether clients are ever told what is not so.
//
//	go run ./torture -seconds 600 -masters 5 -proxies 3
//	go run ./torture -seconds 300 -any-loss   # a majority may lose its memory
//	go run ./torture -planted                 # are planted bugs noticed?
//	go run ./torture -quick                   # a bit of everything, for CI
//
// Real redis-servers and real proxies run, with a network of its own between
// each two of them. While masters are stopped, killed, emptied, set to another
// time, filled up and replaced, networks are slow, cut and lose one direction,
// and proxies are stopped and killed, dozens of clients use locks, and by one
// clock it is known who is entitled to what (package ledger). Checked is that
//
//   - no two clients are ever entitled to one lock;
//   - no holder is told that its lock is not its own, or free, or another's;
//   - short histories of single locks are linearizable (package linear);
//   - when all is repaired, all masters vote again by themselves, every lock can
//     be had, no key is left for ever, and the proxies are no larger than before.
//
// The seed decides the order of faults. Processes run as they please, so a seed
// does not give the same run again; the report of a violation has what is
// needed: faults, history of the lock, what each master executed, and the
// proxies' logs.
//
// The exit code is 1 if anything was violated, or a planted bug not noticed, and
// 2 if the harness failed. Partitions take root, ip and iptables; without them
// they are reported as not run, which is a failure if CI is set.
package main

// Package redlock decides, by majority vote over N independent Redis masters,
// who holds a lock. It implements the algorithm of
// https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/
// for one primitive, the [Swap]: an atomic change of one key by a decision
// table.
//
// The rules a reader needs:
//
//   - A [Quorum] sends one Swap to all its masters at once and decides at the
//     decisive vote; the slowest master is never waited for.
//   - A vote is what a master saw and whether it applied the table. A master
//     that did not answer in time, failed, or may not vote is "unknown", and
//     unknown is never reported as held, free, extended or released.
//   - A grant is valid only if it is claimed in time: see [Quorum.Claim].
//   - What a failed attempt created is removed again, and only that.
//   - All time is monotonic, taken from a [Clock].
//
// The package knows nothing of the Redis protocol as clients speak it, nor of
// connections of clients.
package redlock

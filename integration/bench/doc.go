// Command bench measures acquire+release cycles per second: through
// redlock-proxy with a plain client, against redsync, which runs the Redlock
// algorithm in the client, on the same masters, and against one plain Redis.
//
//	cd integration && go run ./bench            # a few minutes
//	cd integration && go run ./bench -quick     # a few seconds
//
// Every cycle locks a key of its own: SET key token NX PX, then a
// compare-and-delete script. All contestants run one after the other in every
// round, so that what else the machine does hits all of them; the table shows
// medians over the rounds. Client, proxy and masters share one machine: the
// ratios mean something, the absolute numbers little.
package main

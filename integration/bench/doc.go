// Command bench measures redlock-proxy against what else one could lock with:
// redsync, which runs the Redlock algorithm in the client, on the same masters;
// one plain Redis; etcd's mutex and ZooKeeper's lock recipe.
//
//	cd integration && go run ./bench                       # a quarter of an hour
//	cd integration && go run ./bench -part cycles -n 3     # a part of it
//	cd integration && go run ./bench -quick                # proves that it works
//
// A cycle acquires a lock, SET key token NX PX, and releases it by a
// compare-and-delete script. All contestants run one after the other in every
// round, in an order that alternates, so that what else the machine does hits
// all of them; the tables show medians over the rounds, and the least and the
// most. Client, proxy and masters share one machine: the ratios mean
// something, the absolute numbers little.
package main

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	etcdMutex  = "etcd's mutex"
	zooRecipe  = "ZooKeeper's lock recipe"
	persistent = ", masters that persist every write"
)

var (
	etcdContestant = contestant{name: etcdMutex, where: onStore, open: openEtcd}
	zooContestant  = contestant{name: zooRecipe, where: onStore, open: openZooKeeper}
)

// runStores compares with servers that keep locks by consensus.
func (b *bench) runStores() (s section, err error) {
	if lacks := missing(); len(lacks) > 0 {
		if os.Getenv("CI") != "" {
			return s, fmt.Errorf("not installed: %s", strings.Join(lacks, ", "))
		}
		s.notes = []string{"Not run, for this machine lacks " + strings.Join(lacks, ", ") + "."}
		return s, nil
	}
	for _, medium := range []struct{ name, dir string }{{"disk", b.dir}, {"tmpfs", b.memory}} {
		if b.quick && medium.dir == b.memory {
			continue // the same servers, and they take seconds to start
		}
		results, err := b.stores(medium.name, medium.dir)
		if err != nil {
			return s, err
		}
		s.Results = append(s.Results, results...)
		for _, callers := range b.callers {
			now := slices.DeleteFunc(slices.Clone(results), func(r result) bool { return r.Callers != callers })
			s.tables = append(s.tables, tableOf(fmt.Sprintf("3 nodes, data on %s, callers: %d", medium.name, callers), now, timesAndCPU...))
		}
		if medium.dir == b.dir {
			s.goals = storeGoals(results)
		}
	}
	return s, nil
}

// storeGoals compares when data is on disk.
func storeGoals(results []result) (goals []goal) {
	us := find(results, rueidisProxy, nodeCount, 64)
	for _, name := range []string{etcdMutex, zooRecipe} {
		if r := find(results, name, nodeCount, 64); us != nil && r != nil {
			goals = append(goals, atLeast(fmt.Sprintf("cycles/s, %s ÷ %s, data on disk, 64 callers", us.Contestant, name), 10, us.median(cyclesOf)/r.median(cyclesOf)))
		}
	}
	return goals
}

// stores measures everybody with data in dir.
func (b *bench) stores(medium, dir string) ([]result, error) {
	say("starting etcd and ZooKeeper, data on %s", medium)
	inDir := *b
	inDir.dir = dir
	plain, err := inDir.startField(nodeCount)
	if err != nil {
		return nil, err
	}
	defer plain.close()
	strict, err := inDir.startField(nodeCount, "--appendonly", "yes", "--appendfsync", "always")
	if err != nil {
		return nil, err
	}
	defer strict.close()
	etcd, err := startEtcd(dir)
	if err != nil {
		return nil, err
	}
	defer etcd.close()
	zoo, err := startZooKeeper(dir)
	if err != nil {
		return nil, err
	}
	defer zoo.close()
	say("warming up ZooKeeper, data on %s", medium)
	if _, err := zoo.entry(zooContestant, slices.Max(b.callers)).sample(3 * b.seconds); err != nil { // its compiler takes a while
		return nil, err
	}
	var all []result
	for _, callers := range b.callers {
		strictly := strict.entries(distinctKeys, callers, viaProxy[:1])
		strictly[0].name += persistent
		entries := slices.Concat(plain.entries(distinctKeys, callers, viaProxy[:1]), strictly, []entry{
			etcd.entry(etcdContestant, callers), zoo.entry(zooContestant, callers),
		})
		results, err := b.contest("data on "+medium, nodeCount, callers, entries)
		if err != nil {
			return nil, err
		}
		all = append(all, results...)
	}
	return all, nil
}

// entry is a client of the cluster, with callers on keys of their own.
func (c *cluster) entry(who contestant, callers int) entry {
	serial := 0
	return entry{who.name, func(length time.Duration) (sample, error) {
		run, end, err := who.ready(c.addrs, callers, distinctKeys)
		if err != nil {
			return sample{}, err
		}
		defer end()
		serial++
		prefix := fmt.Sprintf("%d:%d:", callers, serial)
		if _, err := run(prefix+"warm:", min(length/5, 500*time.Millisecond)); err != nil {
			return sample{}, fmt.Errorf("warm-up: %w", err)
		}
		return measure(c.usage, func() (outcome, error) { return run(prefix, length) })
	}}
}

func (c *cluster) usage() (u usage, err error) {
	if u.masters, err = c.cpu(); err == nil {
		u.client, err = clientCPU()
	}
	return u, err
}

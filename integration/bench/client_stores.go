package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/go-zookeeper/zk"
	etcd "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

const sessionTTL = 60 * time.Second

// etcdLocker is etcd's mutex. All callers share a client and its session.
type etcdLocker struct {
	client  *etcd.Client
	session *concurrency.Session
}

func openEtcd(addrs []string, _ int) (locker, error) {
	client, err := etcd.New(etcd.Config{Endpoints: addrs, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	s, err := concurrency.NewSession(client, concurrency.WithTTL(int(sessionTTL.Seconds())))
	if err != nil {
		client.Close()
		return nil, err
	}
	return etcdLocker{client, s}, nil
}

func (l etcdLocker) Acquire(ctx context.Context, key string) (release, error) {
	m := concurrency.NewMutex(l.session, "/locks/"+key)
	if err := m.Lock(ctx); err != nil {
		return nil, err
	}
	return m.Unlock, nil
}

func (l etcdLocker) Close() {
	l.session.Close()
	l.client.Close()
}

// zooLocker is the lock recipe of ZooKeeper's client, over a connection to each
// node. A lock is a node that stays, with ephemeral ones below. Making one for
// each cycle would double its cost, so every caller keeps its own and the keys
// are not used.
type zooLocker struct {
	conns []*zk.Conn
	idle  chan *zk.Lock
}

func openZooKeeper(addrs []string, callers int) (locker, error) {
	l := zooLocker{idle: make(chan *zk.Lock, callers)}
	for _, addr := range addrs {
		conn, _, err := zk.Connect([]string{addr}, sessionTTL, zk.WithLogger(silent{}))
		if err != nil {
			l.Close()
			return nil, err
		}
		l.conns = append(l.conns, conn)
	}
	for i := range callers {
		lock := zk.NewLock(l.conns[i%len(l.conns)], fmt.Sprintf("/lock-of-%d", i), zk.WorldACL(zk.PermAll))
		if err := errors.Join(lock.Lock(), lock.Unlock()); err != nil { // makes its node
			l.Close()
			return nil, err
		}
		l.idle <- lock
	}
	return l, nil
}

func (l zooLocker) Acquire(context.Context, string) (release, error) {
	lock := <-l.idle
	if err := lock.Lock(); err != nil {
		l.idle <- lock
		return nil, err
	}
	return func(context.Context) error {
		defer func() { l.idle <- lock }()
		return lock.Unlock()
	}, nil
}

func (l zooLocker) Close() {
	for _, c := range l.conns {
		c.Close()
	}
}

// silent keeps the client's remarks on its connections out of the output.
type silent struct{}

func (silent) Printf(string, ...any) {}

// etcdServes reports as an error that a node does not serve.
func etcdServes(addr string) error {
	client, err := etcd.New(etcd.Config{Endpoints: []string{addr}, DialTimeout: time.Second, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, err = client.Get(ctx, "/")
	return err
}

// zooKeeperServes reports as an error that a node does not serve.
func zooKeeperServes(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write([]byte("srvr")); err != nil {
		return err
	}
	text, err := io.ReadAll(conn)
	if err == nil && !bytes.Contains(text, []byte("Mode: ")) {
		err = fmt.Errorf("srvr: %s", text)
	}
	return err
}

package redlock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// listCount is how many keys a master looks at for one SCAN: a fraction of a
// millisecond of its time.
const listCount = "1000"

// list returns the keys of a master that votes, as visit sees them.
func (u *upstream) list(ctx context.Context, f KeyFilter) (keys []string, err error) {
	err = u.visit(ctx, func(s *lister) error {
		err := s.all(f, s.take)
		keys = s.keys
		return err
	})
	return keys, err
}

// visit reads from a master that votes, over a connection of its own to one life
// of it: what the main connection shows before and after has to be the same
// generation, and the record has to be there at the end. So a restart or a
// FLUSHALL in between is noticed.
func (u *upstream) visit(ctx context.Context, read func(*lister) error) error {
	generation, run, err := u.awaitVote(ctx)
	if err != nil {
		return err
	}
	return u.peek(ctx, run, func(s *lister) error {
		if err := read(s); err != nil {
			return err
		}
		replies, err := s.do([]string{"GET", recordKey(u.shape.name)})
		if err != nil {
			return err
		}
		return u.confirm(generation, []byte(replies[0].text))
	})
}

// peek reads from a master, whether it votes or not, over a connection of its
// own that ends with ctx. If run is not empty it has to be the master's run_id.
func (u *upstream) peek(ctx context.Context, run string, read func(*lister) error) error {
	conn, err := connect(ctx, &u.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	s := lister{rawConn: rawConn{conn: conn, in: bufio.NewReader(conn)}}
	if err := s.enter(&u.addr, u.db, run); err != nil {
		return err
	}
	return read(&s)
}

// awaitVote returns the generation of the connection that votes, and the run_id
// of the server. It waits a little for one that is just being opened.
func (u *upstream) awaitVote(ctx context.Context) (generation uint64, run string, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(u.shape.opTimeout)*time.Millisecond)
	defer cancel()
	for {
		u.mu.Lock()
		votes, reason := u.link.votes()
		generation, run = u.link.generation, u.link.id.run
		opening := u.wire == nil && u.down == "" || u.wire != nil && u.link.serial == 0 && u.link.lastSeen == 0
		u.mu.Unlock()
		if votes {
			return generation, run, nil
		}
		if !opening || ctx.Err() != nil {
			return 0, "", errors.New(reason)
		}
		pause(ctx, 2*time.Millisecond)
	}
}

// confirm reports, as an error, if what was listed does not count.
func (u *upstream) confirm(generation uint64, record []byte) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	votes, reason := u.link.votes()
	switch r, err := parseRecord(record, u.shape.name); {
	case !votes:
		return errors.New(reason)
	case generation != u.link.generation:
		return errors.New("connection lost")
	case err != nil || r.setName() != u.in.set || r.own() != admission{u.link.serial, u.link.id.String()}:
		return errors.New(reasonRecordChanged)
	}
	return nil
}

// lister walks through the keys of one server.
type lister struct {
	rawConn
	gentle bool // rests as long as it works
	keys   []string
	size   int // their bytes
}

// enter logs in to the server; run is its run_id, or empty.
func (s *lister) enter(addr *MasterAddr, db int, run string) error {
	if err := s.login(addr, db); err != nil {
		return err
	}
	replies, err := s.do([]string{"CLIENT", "SETNAME", "redlock-proxy-scan"}, []string{"INFO", "server"})
	if err != nil {
		return err
	}
	if run != "" && parseInfo(replies[1].text)["run_id"] != run {
		return errors.New("it restarted")
	}
	return nil
}

// all gives take the keys from the beginning to the end, some perhaps twice,
// without those of the proxies.
func (s *lister) all(f KeyFilter, take func(key string) error) error {
	command := []string{"SCAN", "0", "COUNT", listCount}
	if f.Pattern != nil {
		command = append(command, "MATCH", string(f.Pattern))
	}
	if f.Type != "" {
		command = append(command, "TYPE", f.Type)
	}
	for {
		began := time.Now()
		s.conn.SetDeadline(began.Add(answerTimeout))
		cursor, err := s.step(command, take)
		if err != nil || cursor == "0" {
			return err
		}
		command[1] = cursor
		if s.gentle {
			time.Sleep(time.Since(began))
		}
	}
}

// step runs one SCAN and returns the next cursor.
func (s *lister) step(command []string, take func(key string) error) (cursor string, err error) {
	if err := s.send(command); err != nil {
		return "", err
	}
	if n, err := s.array(); err != nil || n != 2 {
		return "", fmt.Errorf("SCAN: %w", orMalformed(err))
	}
	next, err := s.read()
	if err != nil {
		return "", err
	}
	n, err := s.array()
	if err != nil {
		return "", err
	}
	for range n {
		key, err := s.read()
		if err != nil {
			return "", err
		}
		if strings.HasPrefix(key.text, OwnKeys) {
			continue
		}
		if err := take(key.text); err != nil {
			return "", err
		}
	}
	return next.text, nil
}

// take notes a key.
func (s *lister) take(key string) error {
	if s.size += len(key); s.size > maxKeysSize || len(s.keys) == maxKeysListed {
		return ErrTooManyKeys
	}
	s.keys = append(s.keys, key)
	return nil
}

// array reads the head of an array.
func (s *lister) array() (int, error) {
	line, err := s.in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	line = strings.TrimRight(line, "\r\n")
	if text, ok := strings.CutPrefix(line, "-"); ok {
		return 0, errors.New(text)
	}
	length, ok := strings.CutPrefix(line, "*")
	n, err := strconv.Atoi(length)
	if !ok || err != nil {
		return 0, errMalformed
	}
	return n, nil
}

var errMalformed = errors.New("not the reply of a Redis server")

func orMalformed(err error) error {
	if err == nil {
		return errMalformed
	}
	return err
}

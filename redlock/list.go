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

// list returns the keys of a master that votes. It has a connection of its own
// to one life of the master: what the main connection shows before and after
// has to be the same generation, and the record has to be there at the end. So
// a restart or a FLUSHALL in between is noticed.
func (u *upstream) list(ctx context.Context, f KeyFilter) ([]string, error) {
	generation, run, err := u.awaitVote(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := connect(ctx, &u.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	s := lister{rawConn: rawConn{conn: conn, in: bufio.NewReader(conn)}, filter: f}
	if err := s.enter(&u.addr, u.db, run); err != nil {
		return nil, err
	}
	if err := s.all(); err != nil {
		return nil, err
	}
	replies, err := s.do([]string{"GET", recordKey(u.shape.name)})
	if err != nil {
		return nil, err
	}
	return s.keys, u.confirm(generation, []byte(replies[0].text))
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
	switch r, err := parseRecord(record, u.shape.name, u.shape.size, u.place); {
	case !votes:
		return errors.New(reason)
	case generation != u.link.generation:
		return errors.New("connection lost")
	case err != nil || r.Admitted[u.place] != admission{u.link.serial, u.link.id.String()}:
		return errors.New("its record has changed")
	}
	return nil
}

// lister walks through the keys of one server.
type lister struct {
	rawConn
	filter KeyFilter
	keys   []string
	size   int // their bytes
}

// enter logs in to the server with this run_id.
func (s *lister) enter(addr *MasterAddr, db int, run string) error {
	if err := s.login(addr, db); err != nil {
		return err
	}
	replies, err := s.do([]string{"CLIENT", "SETNAME", "redlock-proxy-scan"}, []string{"INFO", "server"})
	if err != nil {
		return err
	}
	if parseInfo(replies[1].text)["run_id"] != run {
		return errors.New("it restarted")
	}
	return nil
}

// all reads the keys from the beginning to the end.
func (s *lister) all() error {
	command := []string{"SCAN", "0", "COUNT", listCount}
	if s.filter.Pattern != nil {
		command = append(command, "MATCH", string(s.filter.Pattern))
	}
	if s.filter.Type != "" {
		command = append(command, "TYPE", s.filter.Type)
	}
	for {
		s.conn.SetDeadline(time.Now().Add(answerTimeout))
		cursor, err := s.step(command)
		if err != nil || cursor == "0" {
			return err
		}
		command[1] = cursor
	}
}

// step runs one SCAN and returns the next cursor.
func (s *lister) step(command []string) (cursor string, err error) {
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
		if err := s.take(key.text); err != nil {
			return "", err
		}
	}
	return next.text, nil
}

// take notes a key.
func (s *lister) take(key string) error {
	if strings.HasPrefix(key, OwnKeys) {
		return nil
	}
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

package proxy

import (
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"redlock-proxy/resp"
)

// users are those who may log in: one, or those of a file. They may be looked up
// while the file is read again.
type users struct {
	path   string // empty: there is one user, and no file
	base   *resp.Env
	byName atomic.Pointer[map[string]*account]

	loading sync.Mutex
}

// account is a user, for as long as there are connections of that name.
type account struct {
	name   string
	rights atomic.Pointer[rights] // nil: there is no such user, or not any more
}

// onlyUser is one who may do everything.
func onlyUser(name, password string, base *resp.Env) *users {
	u := &users{base: base}
	u.enact(map[string]*rights{name: everything(password)})
	return u
}

// usersOf returns the users of a file.
func usersOf(path string, base *resp.Env) (*users, error) {
	u := &users{path: path, base: base}
	return u, u.load()
}

// load reads the file. If that fails, everything stays as it is.
func (u *users) load() error {
	u.loading.Lock()
	defer u.loading.Unlock()
	text, err := os.ReadFile(u.path)
	if err != nil {
		return ACLFaults{err.Error()}
	}
	found, err := parseACL(u.path, string(text))
	if err == nil {
		u.enact(found)
	}
	return err
}

// enact puts rights into force. Whoever is not among them has none.
func (u *users) enact(found map[string]*rights) {
	next := map[string]*account{}
	for name, r := range found {
		a := u.find(name)
		env := *u.base
		if !r.all() {
			env.Forbids = r.inScript
		}
		r.env = &env
		a.rights.Store(r)
		next[name] = a
	}
	old := u.byName.Swap(&next)
	if old == nil {
		return
	}
	for name, a := range *old {
		if next[name] == nil {
			a.rights.Store(nil)
		}
	}
}

// find returns a user; one who has no rights if there is none of that name.
func (u *users) find(name string) *account {
	if all := u.byName.Load(); all != nil && (*all)[name] != nil {
		return (*all)[name]
	}
	return &account{name: name}
}

// names are those of all users, sorted.
func (u *users) names() (names []string) {
	for name := range *u.byName.Load() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// opens reports whether a password is that of the user. It takes as long where
// there is no such user.
func (a *account) opens(password []byte) bool {
	r := a.rights.Load()
	if r == nil {
		r = everything("x")
		r.on = false
	}
	return r.opens(password)
}

// String is what is read again.
func (s *Server) String() string { return "users" }

// Changed is false: users are read again when somebody says so.
func (s *Server) Changed() bool { return false }

// Reload reads the file of users again, if there is one. Connections of users
// who are gone, or were switched off, and those that hear channels that they may
// not any more, end when what they have begun is answered.
func (s *Server) Reload() error {
	if s.users.path == "" {
		return nil
	}
	if err := s.users.load(); err != nil {
		return err
	}
	for _, sess := range s.hub.silence() {
		sess.drain()
	}
	for _, sess := range s.list() {
		if !sess.mayStay() {
			sess.drain()
		}
	}
	return nil
}

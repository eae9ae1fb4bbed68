//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// The roles of the processes that this program starts.
const (
	roleVictim    = "victim"    // uses locks
	roleAttacker  = "attacker"  // attacks
	roleNeighbour = "neighbour" // sends as much as the attacker does, but means well
)

// passwordVariable is the environment variable with the proxy's password.
const passwordVariable = "ATTACK_PASSWORD"

// role is what such a process does.
type role struct {
	name    string
	attack  string // its name
	addr    string
	seconds time.Duration
	scale   int
}

// play plays the role and prints what came of it.
func (r *role) play() error {
	a := attackNamed(r.attack)
	if a == nil {
		return fmt.Errorf("no such attack: %q", r.attack)
	}
	var result any
	var err error
	switch r.name {
	case roleVictim:
		result, err = r.suffer()
	case roleAttacker:
		result, err = r.act(a, a.run)
	case roleNeighbour:
		result, err = r.act(a, a.baseline.run)
	default:
		err = fmt.Errorf("no such role: %q", r.name)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

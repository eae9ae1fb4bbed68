package conf

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Limits is what clients may do, each and together. Sizes are in bytes.
type Limits struct {
	MaxClients      int
	MaxInFlight     int           // commands, per connection
	IdleTimeout     time.Duration // 0: never
	CommandTimeout  time.Duration // 0: never
	WriteTimeout    time.Duration
	KeepAlive       time.Duration // 0: none
	MaxBulk         int
	QueryBuffer     int
	OutputBuffer    int
	PubSubBuffer    int
	MaxMemory       int           // of all connections; 0: no bound
	DrainTime       time.Duration // 0: none
	ShutdownTimeout time.Duration
}

const (
	maxConnections = 1_000_000
	maxInFlight    = 1_000_000

	mb = 1 << 20
	// redisMaxBulk is the default of Redis for what is, by its protocol, the
	// longest argument.
	redisMaxBulk = 512 * mb
	maxBuffer    = math.MaxInt32 // a connection that holds 2 GB is out of hand
)

// limits are called as in redis.conf where Redis has them. Numbers without a
// unit are then what they are there: seconds and bytes.
func limits(p *parser) []*option {
	const g = "Limits"
	l := &p.Limits
	return []*option{
		{group: g, name: "maxclients", arg: "count", def: "10000", set: number(&l.MaxClients, 1, maxConnections),
			usage: "client connections at a time"},
		{group: g, name: "max-in-flight", arg: "count", def: "1024", set: number(&l.MaxInFlight, 1, maxInFlight),
			usage: "commands of one connection at a time; past it the proxy stops reading from that connection"},
		{group: g, name: "timeout", arg: "duration", def: "0s", set: seconds(orNever(&l.IdleTimeout, time.Millisecond)),
			usage: "close connections that have been silent this long; 0: never"},
		{group: g, name: "command-timeout", arg: "duration", def: "30s", set: seconds(orNever(&l.CommandTimeout, time.Millisecond)),
			usage: "close connections that take longer to send a command they have begun, or, where a password is asked for, to log in; 0: never"},
		{group: g, name: "write-timeout", arg: "duration", def: "10s", set: seconds(duration(&l.WriteTimeout, time.Millisecond, forever)),
			usage: "close connections that have taken nothing of their replies for this long"},
		{group: g, name: "tcp-keepalive", arg: "duration", def: "300s", set: seconds(orNever(&l.KeepAlive, time.Second)),
			usage: "ask silent connections this often whether their peer is still there; 0: never"},
		{group: g, name: "proto-max-bulk-len", arg: "size", def: "16mb", set: size(&l.MaxBulk, mb, redisMaxBulk),
			usage: "the longest argument of a command"},
		{group: g, name: "client-query-buffer-limit", arg: "size", def: "32mb", set: size(&l.QueryBuffer, mb, maxBuffer),
			usage: "the longest command"},
		{group: g, name: "client-output-buffer-limit", arg: "size", def: "1mb", set: size(&l.OutputBuffer, 64<<10, maxBuffer),
			usage: "commands and replies that wait for one client; past it the proxy stops reading from that connection"},
		{group: g, name: "pubsub-output-buffer-limit", arg: "size", def: "8mb", set: size(&l.PubSubBuffer, 64<<10, maxBuffer),
			usage: "messages that wait for one subscriber; past it the connection is closed"},
		{group: g, name: "maxmemory-clients", arg: "size", def: "512mb", set: size(&l.MaxMemory, 0, math.MaxInt),
			usage: "what all connections together may have in their buffers; past it those that have most are closed; 0: any amount"},
		{group: g, name: "drain-time", arg: "duration", def: "0s", set: orNever(&l.DrainTime, time.Millisecond),
			usage: "on SIGTERM, how long to go on serving while /readyz sends new clients elsewhere; needed behind a load balancer"},
		{group: g, name: "shutdown-timeout", arg: "duration", def: "5s", set: duration(&l.ShutdownTimeout, time.Millisecond, forever),
			usage: "then, how long to wait for what is in flight; docker stop kills after 10s, the drain time included"},
	}
}

// seconds lets a number have no unit, as in redis.conf.
func seconds(set func(string) error) func(string) error {
	return func(s string) error {
		if _, err := strconv.ParseUint(s, 10, 31); err == nil {
			s += "s"
		}
		return set(s)
	}
}

// orNever takes what duration takes, and 0.
func orNever(dst *time.Duration, low time.Duration) func(string) error {
	set := duration(dst, low, forever)
	return func(s string) error {
		if d, err := time.ParseDuration(s); err == nil && d == 0 {
			*dst = 0
			return nil
		}
		return set(s)
	}
}

// units are those of redis.conf: with a b they are powers of 1024.
var units = map[string]int{
	"": 1, "b": 1, "k": 1000, "kb": 1 << 10, "m": 1000 * 1000, "mb": mb, "g": 1000 * 1000 * 1000, "gb": 1 << 30,
}

// size takes bytes within [low, high], with a unit of redis.conf or without.
func size(dst *int, low, high int) func(string) error {
	return func(s string) error {
		digits := strings.TrimRight(strings.ToLower(s), "bkmg")
		unit, known := units[strings.ToLower(s[len(digits):])]
		n, err := strconv.ParseUint(digits, 10, 63)
		if !known || err != nil && !errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("%q is not a size; write bytes, or a number with its unit, like 64kb, 16mb or 1gb", s)
		}
		if err != nil || n > math.MaxInt/uint64(unit) || int(n)*unit < low || int(n)*unit > high {
			return fmt.Errorf("%s is out of range: %s", s, sizes(low, high))
		}
		*dst = int(n) * unit
		return nil
	}
}

func sizes(low, high int) string {
	if high == math.MaxInt {
		return "at least " + inUnits(low)
	}
	return inUnits(low) + " to " + inUnits(high)
}

// inUnits writes a size in the largest unit that it is a multiple of.
func inUnits(n int) string {
	for _, unit := range []string{"gb", "mb", "kb"} {
		if n >= units[unit] && n%units[unit] == 0 {
			return strconv.Itoa(n/units[unit]) + unit
		}
	}
	return strconv.Itoa(n)
}

// checkBuffers lets each of the longest argument and the longest command follow
// the other, if that is the one that was given.
func (p *parser) checkBuffers() {
	l := &p.Limits
	switch bulk, query := p.option("proto-max-bulk-len"), p.option("client-query-buffer-limit"); {
	case l.MaxBulk < l.QueryBuffer:
	case !query.given:
		l.QueryBuffer = min(2*l.MaxBulk, maxBuffer)
	case !bulk.given:
		l.MaxBulk = l.QueryBuffer / 2
	default:
		p.fault(query.source, fmt.Errorf("%s has no room for an argument of %s (%s)", query.text, bulk.text, bulk.source))
	}
}

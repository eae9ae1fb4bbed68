package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
)

// play is one scenario with one library on one server.
type play struct {
	lib    *library
	server server
	name   string // of the lock

	mu      sync.Mutex
	clients []client
	words   []string // what the caller saw
	wrong   string   // what it should not have seen, or what broke
}

// scenario plays, and writes down what it sees.
type scenario struct {
	name string
	play func(p *play)
	slow bool // keeps the machine busy: nothing else is played meanwhile
}

// run plays all scenarios on both servers and prints the results.
func (lib *library) run(servers [2]server, verbose bool) {
	began := time.Now()
	if lib.prepare != nil {
		for _, server := range servers {
			if err := lib.prepare(server.addr); err != nil {
				fmt.Fprintf(os.Stderr, "%s: preparing the %s server: %v\n", lib.name, server.name, err)
			}
		}
	}
	var quick sync.WaitGroup
	results := make([][2]*play, len(scenarios))
	for i, s := range scenarios {
		if lib.lacks[s.name] != "" {
			continue
		}
		for j, server := range servers {
			results[i][j] = &play{lib: lib, server: server, name: fmt.Sprintf("lock:%s:%x", s.name, rand.Uint64())}
			if !s.slow {
				quick.Go(func() { results[i][j].run(s) })
			}
		}
	}
	quick.Wait()
	for i, s := range scenarios {
		if s.slow && lib.lacks[s.name] == "" {
			results[i][0].run(s)
			results[i][1].run(s)
		}
		lib.report(s.name, results[i][0], results[i][1])
		if verbose && lib.lacks[s.name] == "" {
			fmt.Fprintf(os.Stderr, "%s: proxy: %s; plain: %s\n", s.name, results[i][0].saw(), results[i][1].saw())
		}
	}
	fmt.Fprintf(os.Stderr, "%s: %.1f s\n", lib.name, time.Since(began).Seconds())
}

func (lib *library) report(scenario string, proxy, plain *play) {
	switch why := lib.lacks[scenario]; {
	case why != "":
		lib.print(scenario, "unsupported", "library: "+why)
	case proxy.same(plain) && proxy.wrong == "" && plain.wrong == "":
		lib.print(scenario, "pass", "")
	default:
		lib.print(scenario, "differs", fmt.Sprintf("proxy: %s; plain: %s", proxy.saw(), plain.saw()))
	}
}

func (p *play) run(s scenario) {
	defer func() {
		for _, c := range p.clients {
			c.close()
		}
	}()
	s.play(p)
}

func (p *play) same(other *play) bool {
	return strings.Join(p.words, "|") == strings.Join(other.words, "|")
}

// saw is what the caller saw, for people.
func (p *play) saw() string {
	text := strings.Join(p.words, ", ")
	if p.wrong != "" {
		text += " [" + p.wrong + "]"
	}
	return strings.TrimSpace(text)
}

// client opens one more client.
func (p *play) client() client {
	c, err := p.lib.open(p.server.addr)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.wrong = p.clean(err.Error())
		return broken{}
	}
	p.clients = append(p.clients, c)
	return c
}

// lock returns a lock object on a client of its own.
func (p *play) lock(ttl time.Duration) lock { return p.client().lock(p.name, ttl) }

// sees writes down a word.
func (p *play) sees(word string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	word = p.clean(word)
	p.words = append(p.words, word)
	return word
}

// wants writes down a word and notes if it is not the right one.
func (p *play) wants(word, right string) {
	if got := p.sees(word); got != right {
		p.fail("%s instead of %s", got, right)
	}
}

// refused writes down a word and notes if it says that the lock is acquired.
func (p *play) refused(word string) {
	if got := p.sees(word); got == acquired || strings.HasPrefix(got, "error") {
		p.fail("%s instead of a refusal", got)
	}
}

func (p *play) fail(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wrong == "" {
		p.wrong = p.clean(fmt.Sprintf(format, args...))
	}
}

var ports = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// clean takes out what is another one each time.
func (p *play) clean(text string) string {
	text = strings.ReplaceAll(text, p.name, "LOCK")
	return ports.ReplaceAllString(strings.ReplaceAll(text, "\n", " "), "ADDR")
}

// sleep waits until a TTL is certainly over, wherever it was stored.
func sleep(ttl time.Duration) { time.Sleep(ttl + ttl/2 + 200*time.Millisecond) }

// broken stands for a client that could not be opened.
type broken struct{}

const noClient = "error: no client"

func (broken) lock(string, time.Duration) lock { return broken{} }
func (broken) key(string) string               { return "" }
func (broken) close()                          {}
func (broken) try() string                     { return noClient }
func (broken) wait() string                    { return noClient }
func (broken) release() string                 { return noClient }
func (broken) extend(time.Duration) string     { return noClient }
func (broken) query() string                   { return noClient }

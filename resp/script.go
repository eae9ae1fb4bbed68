package resp

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"sync"
	"sync/atomic"
)

// Bounds of the script cache. A client that loads a script expects it to stay;
// Redis keeps all until it restarts. These hold every script of every lock
// library many times over, so only a client that makes a new text for each call
// (tokens spelled out in it, say) reaches them, and then loses the scripts
// longest unused.
const (
	maxScripts     = 10_000
	maxScriptBytes = 64 << 20
)

// Scripts is the script cache of the process, known by text and by SHA1. It is
// safe for concurrent use.
type Scripts struct {
	mu     sync.RWMutex
	bySHA  map[string]*Script
	byText map[string]*Script
	bytes  int

	uses     atomic.Int64 // a clock that ticks with each use
	machines sync.Pool    // of *luaMachine
}

// Script is a parsed script. It is immutable but for the time of its last use.
type Script struct {
	sha      string
	main     luaFunc
	template *template    // its table for any arguments; nil if there is none
	refused  string       // why it cannot be run; empty if it can
	readOnly bool         // it declares that it writes nothing
	tx       *transaction // it is one, and no text

	text     string // its key in Scripts.byText; empty if it was not parsed
	bytes    int    // what it takes in the cache
	used     atomic.Int64
	machines *sync.Pool
}

// NewScripts returns an empty cache.
func NewScripts() *Scripts {
	s := &Scripts{bySHA: make(map[string]*Script), byText: make(map[string]*Script)}
	s.machines.New = func() any { return newLuaMachine() }
	return s
}

// Load parses a script, unless it is known, and returns its SHA1 in lower case.
// A text that is Lua but cannot be run here loads too, and says so when it is
// run. The error's text is that of the reply, "ERR Error compiling script …".
func (s *Scripts) Load(text []byte) (sha string, err error) {
	script, err := s.Compile(text)
	if err != nil {
		return "", err
	}
	return script.sha, nil
}

// Compile is Load for who is going to run the script.
func (s *Scripts) Compile(text []byte) (*Script, error) {
	s.mu.RLock()
	script := s.byText[string(text)]
	s.mu.RUnlock()
	if script == nil {
		var err error
		if script, err = s.parse(text); err != nil {
			return nil, err
		}
		script = s.add(script)
	}
	s.use(script)
	return script, nil
}

// parse makes a script of a text.
func (s *Scripts) parse(text []byte) (*Script, error) {
	sum := sha1.Sum(text)
	sha := hex.EncodeToString(sum[:])
	if known := s.Get([]byte(sha)); known != nil { // too long to be known by text
		return known, nil
	}
	script, err := parseScript(text)
	if err != nil {
		return nil, err
	}
	// A parsed script takes up to 45 bytes for each of its text.
	const perScript, perByte = 1 << 10, 48
	script.sha, script.machines, script.bytes = sha, &s.machines, perScript
	if script.refused == "" {
		script.text = string(text)
		script.bytes += perByte * len(text)
	}
	return script, nil
}

// add puts a script into the cache, and returns the one that is there.
func (s *Scripts) add(script *Script) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.bySHA[script.sha]; known != nil {
		return known
	}
	if len(s.bySHA) >= maxScripts || s.bytes+script.bytes > maxScriptBytes {
		s.evict()
	}
	s.bySHA[script.sha] = script
	if script.text != "" {
		s.byText[script.text] = script
	}
	s.bytes += script.bytes
	return script
}

// evict makes room: the eighth of the scripts that was not used for longest
// goes, and more until the rest takes at most seven eighths of the bytes.
func (s *Scripts) evict() {
	all := make([]*Script, 0, len(s.bySHA))
	for _, script := range s.bySHA {
		all = append(all, script)
	}
	// Their uses go on meanwhile, so the order is taken from a copy.
	used := make(map[*Script]int64, len(all))
	for _, script := range all {
		used[script] = script.used.Load()
	}
	slices.SortFunc(all, func(a, b *Script) int { return int(used[a] - used[b]) })
	for i, script := range all {
		if i >= (len(all)+7)/8 && s.bytes <= maxScriptBytes/8*7 {
			return
		}
		delete(s.bySHA, script.sha)
		delete(s.byText, script.text)
		s.bytes -= script.bytes
	}
}

func (s *Scripts) use(script *Script) { script.used.Store(s.uses.Add(1)) }

// Get returns the script with a SHA1, in any case, and nil if it is not known.
// It counts as a use.
func (s *Scripts) Get(sha []byte) *Script {
	script := s.find(sha)
	if script != nil {
		s.use(script)
	}
	return script
}

// Exists reports whether a SHA1 is known, without counting as a use.
func (s *Scripts) Exists(sha []byte) bool { return s.find(sha) != nil }

func (s *Scripts) find(sha []byte) *Script {
	var buf [2 * sha1.Size]byte
	folded := fold(buf[:], sha)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.bySHA[string(folded)]
}

// Flush forgets all scripts. Runs that have begun go on.
func (s *Scripts) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.bySHA)
	clear(s.byText)
	s.bytes = 0
}

// SHA is the script's SHA1 in lower case.
func (s *Script) SHA() string { return s.sha }

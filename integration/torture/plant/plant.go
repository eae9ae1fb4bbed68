//go:build linux

// Package plant builds the product with a fault in it, to see whether it is
// found. The sources stay as they are: the compiler is given another text.
package plant

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Bug is a change of one place in one file.
type Bug struct {
	Name    string
	File    string // below the product's root
	Old     string // is there exactly once
	New     string
	AnyLoss bool // shows only if a majority of masters may lose its memory
}

// Bugs are faults that have to be found.
var Bugs = []Bug{{
	Name: "a quorum is one master too few",
	File: "redlock/seats.go",
	Old:  "need: len(masters)/2 + 1",
	New:  "need: len(masters) / 2",
}, {
	Name: "a master that restarted empty votes at once",
	File: "redlock/admission.go",
	Old:  `case a.isLife() && recorded && v.durable && !stepped && !m.behind(i):`,
	New:  `case a.isLife() && !stepped:`,
}, {
	Name: "no answer counts as not there",
	File: "redlock/count.go",
	Old:  "if !r.f.q.off.unknown {",
	New:  "if false {",
}, {
	Name: "a release is answered before it is known",
	File: "redlock/decide.go",
	Old:  "if t.pending == 0 && t.applied >= 1 && t.applied+t.unknown >= t.need",
	New:  "if t.applied >= 1 || t.applied+t.unknown >= t.need",
}, {
	Name: "a grant is not looked at again before it is handed over",
	File: "redlock/flight.go",
	Old:  "late := took > f.validity",
	New:  "late := false && took > f.validity",
}, {
	Name: "not yours is said while masters have not answered",
	File: "redlock/decide.go",
	Old:  "t.applied+t.unknown+t.pending < t.need && !t.open",
	New:  "t.applied+t.unknown < t.need && !t.open",
}, {
	Name: "clocks may step",
	File: "redlock/link.go",
	Old:  "	if step == 0 {",
	New:  "	if step = 0; step == 0 {",
}, {
	Name: "an emptied master's record is put back at once",
	File: "redlock/admission.go",
	Old:  `m.lose(i, "its record is gone, so its locks may be (FLUSHALL?)")`,
	New:  "m.admit(i, `planted`); return true",
}, {
	Name:    "nobody waits for the horizon",
	File:    "redlock/restore.go",
	Old:     "case now >= r.until && r.settled:",
	New:     "case true:",
	AnyLoss: true,
}}

// Matches reports whether the name contains a text.
func (b *Bug) Matches(text string) bool { return strings.Contains(b.Name, text) }

// Build compiles the product, whose module is at root, with the bug into dir.
func Build(root, dir string, b Bug) (binary string, err error) {
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	file := filepath.Join(root, b.File)
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), b.Old); n != 1 {
		return "", fmt.Errorf("%s: %q is there %d times, want once: the planted bug %q has to be brought up to date", b.File, b.Old, n, b.Name)
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	binary = filepath.Join(dir, "redlock-proxy-with-a-bug")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), b.Old, b.New, 1)), 0o600); err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-overlay", overlay, "-o", binary, ".")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build with %q: %w\n%s", b.Name, err, out)
	}
	return binary, nil
}

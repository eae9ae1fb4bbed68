package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// maxExposure is how open the unit may be, of 10.
const maxExposure = 1.5

// TestSystemdUnit: systemd takes the unit, finds it hardened, and the program
// knows its settings.
func TestSystemdUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("NOT RUN, this machine lacks systemd-analyze")
	}
	text, err := os.ReadFile("redlock-proxy.service")
	if err != nil {
		t.Fatal(err)
	}
	// The program is not installed here.
	unit := filepath.Join(t.TempDir(), "redlock-proxy.service")
	installed := strings.Replace(string(text), "ExecStart=/usr/local/bin/redlock-proxy", "ExecStart="+build(t), 1)
	if err := os.WriteFile(unit, []byte(installed), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	out, err := exec.Command("systemd-analyze", "security", "--offline=yes", unit).CombinedOutput()
	level := regexp.MustCompile(`Overall exposure level for \S+: ([\d.]+)`).FindSubmatch(out)
	if err != nil || level == nil {
		t.Fatalf("systemd-analyze security: %v\n%s", err, out)
	}
	if n, err := strconv.ParseFloat(string(level[1]), 64); err != nil || n > maxExposure {
		t.Errorf("the unit's exposure is %s, want at most %v\n%s", level[1], maxExposure, out)
	}
	env := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^Environment=(\w+)=(.*)$`).FindAllStringSubmatch(string(text), -1) {
		env[m[1]] = m[2]
	}
	stop := regexp.MustCompile(`(?m)^TimeoutStopSec=(.*)$`).FindStringSubmatch(string(text))
	grace, err := time.ParseDuration(stop[1])
	if err != nil {
		t.Fatal(err)
	}
	checkDrainFits(t, env["REDLOCK_DRAIN_TIME"], grace)
	checkSettings(t, env)
}

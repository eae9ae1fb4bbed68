package conf

import (
	"strings"
	"testing"
)

func TestPrintConfig(t *testing.T) {
	c, err := Parse([]string{"--print-config", "--masters", "redis://u:hunter2@a:1, rediss://:hunter%402@b:2,c", "--max-ttl=1h", "--requirepass-file", "secret"},
		[]string{"REDLOCK_MASTERS_PASSWORD=hunter2", "REDLOCK_OP_TIMEOUT=75ms", "REDLOCK_LOG_LEVEL="}, files(map[string]string{"secret": "hunter2"}))
	if err != nil || c.Command != PrintConfig {
		t.Fatal(c.Command, err)
	}
	var b strings.Builder
	if err := c.Print(&b); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(b.String()) {
		name, rest, _ := strings.Cut(line, " ")
		got[name] = strings.Join(strings.Fields(rest), " ")
	}
	for name, want := range map[string]string{
		"listen":           "127.0.0.1:6380 default",
		"masters":          "redis://u:(hidden)@a:1,rediss://:(hidden)@b:2,c --masters",
		"masters-password": "(hidden) REDLOCK_MASTERS_PASSWORD",
		"requirepass":      "- default",
		"requirepass-file": "secret --requirepass-file",
		"op-timeout":       "75ms REDLOCK_OP_TIMEOUT",
		"max-ttl":          "1h --max-ttl",
		"default-ttl":      "1h0m0s default",
		"log-level":        "info default",
		"address":          "127.0.0.1:6380 default",
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	if strings.Contains(b.String(), "hunter") {
		t.Error(b.String())
	}
	for _, o := range options(&parser{}) {
		if _, shown := got[o.name]; shown == o.isSwitch() {
			t.Errorf("%s: shown: %v", o.name, shown)
		}
	}
}

func TestPrintConfigTellsOfFaults(t *testing.T) {
	if got := faultsOf(t, []string{"--print-config", "--op-timeout=0"}); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

func TestEveryPasswordIsSecret(t *testing.T) {
	for _, o := range options(&parser{}) {
		if holds := strings.Contains(o.name, "pass") && o.arg == "password"; holds != o.secret {
			t.Errorf("--%s: secret: %v", o.name, o.secret)
		}
	}
}

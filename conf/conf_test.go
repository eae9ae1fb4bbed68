package conf

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// files is a readFile over a map.
func files(m map[string]string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if s, ok := m[name]; ok {
			return []byte(s), nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
}

func parse(t *testing.T, args []string, environ ...string) Config {
	t.Helper()
	c, err := Parse(args, environ, files(nil))
	if err != nil {
		t.Fatalf("Parse(%q, %q): %v", args, environ, err)
	}
	return c
}

func faultsOf(t *testing.T, args []string, environ ...string) []string {
	t.Helper()
	_, err := Parse(args, environ, files(nil))
	var f Faults
	if !errors.As(err, &f) {
		t.Fatalf("Parse(%q, %q): got error %v, want Faults", args, environ, err)
	}
	return f
}

func TestDefaults(t *testing.T) {
	got := parse(t, nil)
	want := Config{
		Listen: "127.0.0.1:6380", User: "default", ProtectedMode: true,
		EmbeddedMasters: 5, QuorumName: "redlock",
		OpTimeout: 50 * time.Millisecond, ClockDriftPPM: 500, DefaultTTL: 24 * time.Hour,
		Limits: Limits{
			MaxClients: 10000, MaxInFlight: 1024, CommandTimeout: 30 * time.Second, WriteTimeout: 10 * time.Second,
			KeepAlive: 5 * time.Minute, MaxBulk: 16 << 20, QueryBuffer: 32 << 20, OutputBuffer: 1 << 20, PubSubBuffer: 8 << 20,
			MaxMemory: 512 << 20, ShutdownTimeout: 5 * time.Second,
		},
		StatusPage: true, LogFormat: "text", LogLevel: slog.LevelInfo, Address: "127.0.0.1:6380",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestEverySettingIsAFlagAndAVariable(t *testing.T) {
	values := map[string]string{ // one that is not the default
		"listen": ":7000", "requirepass": "secret", "requirepass-file": "", "user": "alice", "protected-mode": "no",
		"masters": "a:1,b:2,c:3", "masters-username": "u", "masters-password": "p", "masters-password-file": "",
		"masters-tls-ca-cert-file": "", "masters-tls-cert-file": "", "masters-tls-key-file": "",
		"aclfile": "", "tls-port": "", "tls-cert-file": "", "tls-key-file": "", "tls-ca-cert-file": "", "tls-auth-clients": "", "tls-protocols": "",
		"embedded-masters": "3", "quorum-name": "q2",
		"op-timeout": "75ms", "clock-drift": "250", "default-ttl": "1h", "max-ttl": "48h",
		"maxclients": "7", "max-in-flight": "8", "timeout": "9", "command-timeout": "0", "write-timeout": "1s", "tcp-keepalive": "0",
		"proto-max-bulk-len": "1mb", "client-query-buffer-limit": "64mb", "client-output-buffer-limit": "64kb",
		"pubsub-output-buffer-limit": "32mb", "maxmemory-clients": "1g", "drain-time": "15s", "shutdown-timeout": "10s",
		"metrics-addr": "127.0.0.1:9000", "metrics-password": "m", "metrics-password-file": "", "status-page": "no",
		"log-format": "json", "log-level": "warn", "address": "x:1",
	}
	pristine := parse(t, nil)
	for _, o := range options(&parser{}) {
		if o.isSwitch() {
			continue
		}
		v, known := values[o.name]
		if !known {
			t.Errorf("--%s is missing from this test", o.name)
		}
		if v == "" || o.name == "user" || o.name == "masters-username" || o.name == "masters-password" {
			continue // needs another setting; they have tests of their own
		}
		args := []string{"healthcheck", "--" + o.name, v}
		byFlag := parse(t, args)
		byVariable := parse(t, []string{"healthcheck"}, variable(o.name)+"="+v)
		if !reflect.DeepEqual(byFlag, byVariable) {
			t.Errorf("--%s %s: flag gives %+v, variable %+v", o.name, v, byFlag, byVariable)
		}
		if byFlag.Command = Serve; reflect.DeepEqual(byFlag, pristine) {
			t.Errorf("--%s %s changes nothing", o.name, v)
		}
	}
}

func TestWhoMaySeeTheStatusPage(t *testing.T) {
	const warning = "whoever can reach :9000 sees the names of locks and the addresses of clients on the status page; set --metrics-password-file, or --status-page=false"
	for _, tt := range []struct {
		args     []string
		password string
		warnings []string
	}{
		{[]string{"--metrics-addr=:9000"}, "", []string{warning}},
		{[]string{"--metrics-addr=127.0.0.1:9000"}, "", nil},
		{[]string{"--metrics-addr=:9000", "--status-page=false"}, "", nil},
		{[]string{"--metrics-addr=:9000", "--metrics-password-file=/m"}, "open sesame", nil},
	} {
		c, err := Parse(tt.args, nil, files(map[string]string{"/m": "open sesame\n"}))
		if err != nil || c.MetricsPassword != tt.password || !reflect.DeepEqual(c.Warnings, tt.warnings) {
			t.Errorf("%q: password %q, warnings %q, %v", tt.args, c.MetricsPassword, c.Warnings, err)
		}
	}
}

func TestFlagWinsOverVariable(t *testing.T) {
	c := parse(t, []string{"--op-timeout=20ms"}, "REDLOCK_OP_TIMEOUT=30ms", "REDLOCK_MAXCLIENTS=5")
	if c.OpTimeout != 20*time.Millisecond || c.MaxClients != 5 {
		t.Errorf("got %v and %d, want 20ms and 5", c.OpTimeout, c.MaxClients)
	}
}

func TestAFaultyVariableUnderAFlagIsNotLookedAt(t *testing.T) {
	if c := parse(t, []string{"--op-timeout=20ms"}, "REDLOCK_OP_TIMEOUT=soon"); c.OpTimeout != 20*time.Millisecond {
		t.Errorf("got %v", c.OpTimeout)
	}
}

func TestEmptyVariableIsNotSet(t *testing.T) {
	c := parse(t, nil, "REDLOCK_OP_TIMEOUT=", "REDLOCK_MASTERS=")
	if c.OpTimeout != 50*time.Millisecond || len(c.Warnings) != 0 {
		t.Errorf("got %+v", c)
	}
	c = parse(t, nil, "REDLOCK_REQUIREPASS=")
	if want := []string{"REDLOCK_REQUIREPASS is set but empty: no password is used"}; !reflect.DeepEqual(c.Warnings, want) {
		t.Errorf("warnings %q, want %q", c.Warnings, want)
	}
}

func TestCommands(t *testing.T) {
	tests := []struct {
		args []string
		want Command
	}{
		{nil, Serve},
		{[]string{"--listen", ":1"}, Serve},
		{[]string{"healthcheck"}, Healthcheck},
		{[]string{"healthcheck", "--listen", ":1"}, Healthcheck},
		{[]string{"--listen", ":1", "healthcheck"}, Healthcheck},
		{[]string{"--help"}, Help},
		{[]string{"-h"}, Help},
		{[]string{"--op-timeout", "wrong", "--help"}, Help},
		{[]string{"--version"}, Version},
		{[]string{"--nonsense", "--version"}, Version},
	}
	for _, tt := range tests {
		if got := parse(t, tt.args).Command; got != tt.want {
			t.Errorf("%q: got command %d, want %d", tt.args, got, tt.want)
		}
	}
}

func TestOneLinePerFault(t *testing.T) {
	tests := []struct {
		name    string
		args    []string
		environ []string
		want    []string
	}{
		{"unknown flag, its value is not repeated", []string{"--require-pass", "secret"}, nil, []string{
			"--require-pass: no such flag; the nearest is --requirepass"}},
		{"unknown flags in every form", []string{"--metric=1", "-x", "--", "--lisen"}, nil, []string{
			"--metric: no such flag; the nearest is --metrics-addr",
			"-x: no such flag; the nearest is --user",
			"--lisen: no such flag; the nearest is --listen"}},
		{"argument that is none", []string{"serve"}, nil, []string{
			`unexpected argument "serve": settings are flags, see --help`}},
		{"flag without a value", []string{"--listen"}, nil, []string{
			"--listen: needs a value (host:port)"}},
		{"flag with an empty value", []string{"--listen="}, nil, []string{
			"--listen: is empty; leave it out for the default, 127.0.0.1:6380"}},
		{"unknown variable", nil, []string{"REDLOCK_MASTER=a:1", "REDLOCKED=1", "OTHER=1"}, []string{
			"REDLOCK_MASTER: no such setting; the nearest is REDLOCK_MASTERS (--masters)"}},
		{"all of them", []string{"--op-timeout=50", "--maxclients", "0"}, []string{"REDLOCK_LOG_FORMAT=xml"}, []string{
			`--op-timeout: "50" is not a duration; write a number with its unit, like 50ms, 2s or 24h`,
			"--maxclients: 0 is out of range: 1 to 1000000",
			`REDLOCK_LOG_FORMAT: "xml" is none of text, json`}},
		{"listen", []string{"--listen=localhost"}, nil, []string{
			`--listen: "localhost" is not host:port, like 127.0.0.1:6380 or [::1]:6380`}},
		{"listen, bad port", []string{"--listen=localhost:70000"}, nil, []string{
			`--listen: port "70000" is not a number from 0 to 65535`}},
		{"boolean", []string{"--protected-mode", "maybe"}, nil, []string{
			`--protected-mode: "maybe" is neither true nor false`}},
		{"number", []string{"--max-in-flight=many"}, nil, []string{
			`--max-in-flight: "many" is not a whole number`}},
		{"number out of int", []string{"--max-in-flight=99999999999999999999"}, nil, []string{
			"--max-in-flight: 99999999999999999999 is out of range: 1 to 1000000"}},
		{"drift", []string{"--clock-drift=1%"}, nil, []string{
			`--clock-drift: "1%" is not a whole number; it is in parts per million, like 500 or 500ppm`}},
		{"negative duration", []string{"--timeout=-1s"}, nil, []string{
			"--timeout: -1s is out of range: at least 1ms"}},
		{"zero where it means nothing", []string{"--op-timeout=0"}, nil, []string{
			"--op-timeout: 0 is out of range: 1ms to 1m0s"}},
		{"microseconds", []string{"--default-ttl=1.5ms"}, nil, []string{
			"--default-ttl: 1.5ms is not a whole number of milliseconds"}},
		{"log level", []string{"--log-level=loud"}, nil, []string{
			`--log-level: "loud" is none of debug, info, warn, error`}},
		{"quorum name", []string{"--quorum-name=a b"}, nil, []string{
			`--quorum-name: "a b" is not a name of 1 to 64 letters, digits, dots, dashes or underscores`}},
		{"TTLs that contradict", []string{"--max-ttl=1h"}, []string{"REDLOCK_DEFAULT_TTL=2h"}, []string{
			"--max-ttl: 1h0m0s is shorter than --default-ttl 2h0m0s; locks without a TTL could never be taken"}},
		{"one port for two", []string{"--metrics-addr=127.0.0.1:6380"}, nil, []string{
			"--metrics-addr: 127.0.0.1:6380 is what clients connect to (--listen); it needs another port"}},
		{"user without password", []string{"--user=alice"}, nil, []string{
			"--user: needs a password: --requirepass-file or --requirepass"}},
		{"users and a password", []string{"--aclfile=f", "--requirepass=x"}, []string{"REDLOCK_USER=u"}, []string{
			"--aclfile: --requirepass is given too; users and their passwords are in the file",
			"--aclfile: REDLOCK_USER is given too; users and their passwords are in the file"}},
		{"TLS without a certificate", []string{"--tls-port=1"}, nil, []string{
			"--tls-port: needs --tls-cert-file and --tls-key-file"}},
		{"nowhere to connect", []string{"--listen=off"}, nil, []string{
			"--listen: off leaves nowhere to connect to; it needs --tls-port"}},
		{"TLS on the plain port", []string{"--tls-port=6380"}, nil, []string{
			"--tls-port: needs --tls-cert-file and --tls-key-file",
			"--tls-port: 127.0.0.1:6380 is what clients connect to (--listen); it needs another port"}},
		{"old TLS", []string{"--tls-protocols=TLSv1.1 TLSv1.2"}, nil, []string{
			"--tls-protocols: TLSv1.1 is not safe any more; TLSv1.2 and TLSv1.3 are"}},
		{"TLS address", []string{"--tls-port=x"}, nil, []string{
			`--tls-port: "x" is neither a port nor host:port, like 6379 or 0.0.0.0:6379`}},
		{"address when serving", []string{"--address=:6380"}, nil, []string{
			"--address: is for healthcheck only; to listen somewhere else use --listen"}},
		{"file that is not there", []string{"--requirepass-file=/nope"}, nil, []string{
			"--requirepass-file: open /nope: file does not exist"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := faultsOf(t, tt.args, tt.environ...); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestServiceLinksAreNotOurs(t *testing.T) {
	parse(t, nil,
		"REDLOCK_SERVICE_HOST=10.0.0.1", "REDLOCK_SERVICE_PORT=6380", "REDLOCK_PORT=tcp://10.0.0.1:6380",
		"REDLOCK_PROXY_SERVICE_PORT_REDIS=6380", "REDLOCK_PROXY_PORT_6380_TCP=tcp://10.0.0.1:6380",
		"REDLOCK_PROXY_PORT_6380_TCP_ADDR=10.0.0.1", "REDLOCK_PROXY_PORT_6380_TCP_PROTO=tcp",
		"REDLOCK_VERSION=1.2.3")
}

func TestBooleansAsInRedisConf(t *testing.T) {
	for s, want := range map[string]bool{"yes": true, "no": false, "TRUE": true, "false": false, "0": false, "on": true} {
		if got := parse(t, []string{"--protected-mode", s}).ProtectedMode; got != want {
			t.Errorf("%s: got %v, want %v", s, got, want)
		}
	}
}

func TestDrift(t *testing.T) {
	for s, want := range map[string]int{"500": 500, "500ppm": 500, "1000 ppm": 1000} {
		if got := parse(t, []string{"--clock-drift", s}).ClockDriftPPM; got != want {
			t.Errorf("%s: got %d, want %d", s, got, want)
		}
	}
}

func TestDefaultTTLIsNoLongerThanTheLongest(t *testing.T) {
	if got := parse(t, []string{"--max-ttl=1h"}).DefaultTTL; got != time.Hour {
		t.Errorf("got %v, want 1h", got)
	}
}

func TestSecretsFromFiles(t *testing.T) {
	read := files(map[string]string{"a": "in a file\n", "b": "crlf\r\n", "c": "\n", "d": " spaces stay "})
	tests := []struct {
		name    string
		args    []string
		environ []string
		want    string
		fault   string
	}{
		{name: "flag", args: []string{"--requirepass-file", "a"}, want: "in a file"},
		{name: "variable", environ: []string{"REDLOCK_REQUIREPASS_FILE=b"}, want: "crlf"},
		{name: "spaces", args: []string{"--requirepass-file", "d"}, want: " spaces stay "},
		{name: "empty", args: []string{"--requirepass-file", "c"}, fault: "--requirepass-file: c is empty"},
		{name: "both", args: []string{"--requirepass-file", "a"}, environ: []string{"REDLOCK_REQUIREPASS=x"},
			fault: "--requirepass-file: REDLOCK_REQUIREPASS is given too; use one of them"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse(tt.args, tt.environ, read)
			if tt.fault != "" {
				if err == nil || err.Error() != tt.fault {
					t.Fatalf("got %v, want %s", err, tt.fault)
				}
				return
			}
			if err != nil || c.RequirePass != tt.want {
				t.Errorf("got %q, %v, want %q", c.RequirePass, err, tt.want)
			}
		})
	}
}

func TestOpenDoorIsWarnedOf(t *testing.T) {
	tests := []struct {
		args []string
		want int
	}{
		{[]string{"--listen=0.0.0.0:6379", "--protected-mode=no"}, 1},
		{[]string{"--listen=:6379", "--protected-mode=no"}, 1},
		{[]string{"--listen=0.0.0.0:6379", "--protected-mode=no", "--requirepass=x"}, 0},
		{[]string{"--listen=0.0.0.0:6379"}, 0},
		{[]string{"--listen=localhost:6379", "--protected-mode=no"}, 0},
		{[]string{"--listen=[::1]:6379", "--protected-mode=no"}, 0},
	}
	for _, tt := range tests {
		if got := parse(t, tt.args).Warnings; len(got) != tt.want {
			t.Errorf("%q: warnings %q, want %d", tt.args, got, tt.want)
		}
	}
}

func TestHealthcheckAddress(t *testing.T) {
	tests := []struct{ listen, want string }{
		{"0.0.0.0:6379", "127.0.0.1:6379"},
		{":6379", "127.0.0.1:6379"},
		{"[::]:6379", "[::1]:6379"},
		{"10.1.2.3:6379", "10.1.2.3:6379"},
		{"[fe80::1]:6379", "[fe80::1]:6379"},
		{"box:6379", "box:6379"},
	}
	for _, tt := range tests {
		if got := parse(t, []string{"healthcheck"}, "REDLOCK_LISTEN="+tt.listen).Address; got != tt.want {
			t.Errorf("--listen %s: got %s, want %s", tt.listen, got, tt.want)
		}
	}
	if got := parse(t, []string{"healthcheck", "--address", "box:1"}).Address; got != "box:1" {
		t.Errorf("--address box:1: got %s", got)
	}
}

func TestHelpNamesEveryFlagInItsGroup(t *testing.T) {
	usage := Usage()
	for _, o := range options(&parser{}) {
		_, section, found := strings.Cut(usage, "\n"+o.group+":\n")
		section, _, _ = strings.Cut(section, "\n\n")
		if !found || !strings.Contains(section, "--"+o.name) {
			t.Errorf("--%s is not under %s:", o.name, o.group)
		}
		if o.def != "" && !strings.Contains(section, "(default "+o.def+")") {
			t.Errorf("--%s: its default %s is not shown", o.name, o.def)
		}
	}
	for line := range strings.Lines(usage) {
		if len(line) > 101 {
			t.Errorf("long line: %s", line)
		}
	}
}

// The README's table is made of the options: run with UPDATE_README=1 to
// rewrite it.
func TestReadmeListsEveryFlag(t *testing.T) {
	const path, start, end = "../README.md", "<!-- flags: made by go test ./conf -->\n", "<!-- end of flags -->"
	readme, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(readme), start)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("README.md has no %q … %q", start, end)
	}
	want := readmeTable()
	if got == want {
		return
	}
	if os.Getenv("UPDATE_README") != "" {
		if err := os.WriteFile(path, []byte(before+start+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("README.md is not what the flags are; UPDATE_README=1 go test ./conf rewrites it. Want:\n%s", want)
}

func readmeTable() string {
	var b strings.Builder
	for _, group := range groups {
		b.WriteString("\n**" + group + "**\n\n| flag | variable | default | |\n|---|---|---|---|\n")
		for _, o := range inGroup(options(&parser{}), group) {
			flag, env, def := "`--"+o.name+"`", "", ""
			if !o.isSwitch() {
				flag = "`--" + o.name + " " + strings.ReplaceAll(o.arg, "|", `\|`) + "`"
				env = "`" + variable(o.name) + "`"
			}
			if o.def != "" {
				def = "`" + o.def + "`"
			}
			b.WriteString("| " + flag + " | " + env + " | " + def + " | " + strings.ReplaceAll(o.usage, "|", `\|`) + " |\n")
		}
	}
	return b.String() + "\n"
}

func TestComplain(t *testing.T) {
	tests := []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{errors.New("port in use"), 1, "redlock-proxy: port in use\n"},
		{Faults{"a: b", "c: d"}, 2, "redlock-proxy: a: b\nredlock-proxy: c: d\n"},
	}
	for _, tt := range tests {
		var b strings.Builder
		if code := Complain(&b, tt.err); code != tt.code || b.String() != tt.text {
			t.Errorf("%v: got %d %q, want %d %q", tt.err, code, b.String(), tt.code, tt.text)
		}
	}
}

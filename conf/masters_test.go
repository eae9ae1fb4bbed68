package conf

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestMasterForms(t *testing.T) {
	tests := []struct {
		item string
		want Master
		tls  string // server name
	}{
		{item: "redis-1:7001", want: Master{Address: "redis-1:7001", Username: "u", Password: "p"}},
		{item: "redis-1", want: Master{Address: "redis-1:6379", Username: "u", Password: "p"}},
		{item: "Redis-1:7001", want: Master{Address: "redis-1:7001", Username: "u", Password: "p"}},
		{item: "[::1]:7001", want: Master{Address: "[::1]:7001", Username: "u", Password: "p"}},
		{item: "[::1]", want: Master{Address: "[::1]:6379", Username: "u", Password: "p"}},
		{item: "redis://h", want: Master{Address: "h:6379", Username: "u", Password: "p"}},
		{item: "redis://h:1/0", want: Master{Address: "h:1", Username: "u", Password: "p"}},
		{item: "redis://h:1/", want: Master{Address: "h:1", Username: "u", Password: "p"}},
		{item: "redis://:s%40%2C%3A@h:1", want: Master{Address: "h:1", Username: "u", Password: "s@,:"}},
		{item: "redis://bob@h:1", want: Master{Address: "h:1", Username: "bob", Password: "p"}},
		{item: "REDIS://bob:s@[::1]:1", want: Master{Address: "[::1]:1", Username: "bob", Password: "s"}},
		{item: "rediss://bob:s@h:1", want: Master{Address: "h:1", Username: "bob", Password: "s"}, tls: "h"},
		{item: "rediss://10.0.0.1:1?server-name=redis-1", want: Master{Address: "10.0.0.1:1", Username: "u", Password: "p"}, tls: "redis-1"},
		{item: "rediss://[::1]", want: Master{Address: "[::1]:6379", Username: "u", Password: "p"}, tls: "::1"},
	}
	for _, tt := range tests {
		t.Run(tt.item, func(t *testing.T) {
			c := parse(t, []string{"--masters", tt.item, "--masters-username=u", "--masters-password=p"})
			got := c.Masters[0]
			name := ""
			if got.TLS != nil {
				name = got.TLS().ServerName
			}
			got.TLS = nil
			if len(c.Masters) != 1 || !reflect.DeepEqual(got, tt.want) || name != tt.tls {
				t.Errorf("got %+v, TLS %q, want %+v, TLS %q", got, name, tt.want, tt.tls)
			}
		})
	}
}

func TestMasterFaults(t *testing.T) {
	tests := []struct {
		list string
		want []string
	}{
		{"a:1,,b:1", []string{"--masters: item 2: is empty; write host:port,host:port,host:port"}},
		{"a:1,b:x,:3,c:0", []string{
			"--masters: item 2 (b:x): its port is not a number from 1 to 65535",
			"--masters: item 3 (:3): is not host:port, like redis-1:6379",
			"--masters: item 4 (c:0): its port is not a number from 1 to 65535"}},
		{"::1", []string{"--masters: item 1 (::1): is not host:port; an IPv6 address goes in brackets, like [::1]:6379"}},
		{"a:1,b:1,redis://A:1", []string{"--masters: items 1 and 3 are both a:1; a quorum needs independent servers"}},
		{"redis://a:1/3", []string{"--masters: item 1 (redis://a:1/3): a database other than 0 cannot be chosen here: a client that says SELECT n gets database n of every master"}},
		{"http://a:1", []string{"--masters: item 1 (http://a:1): http:// is neither redis:// nor rediss:// (TLS)"}},
		{"redis://a:1?db=3", []string{"--masters: item 1 (redis://a:1?db=3): a URL with ? or # is not supported; other settings are flags"}},
		{"rediss://a:1?db=3", []string{"--masters: item 1 (rediss://a:1?db=3): after ? only server-name=name is understood; other settings are flags"}},
		{"rediss://a:1?server-name=", []string{"--masters: item 1 (rediss://a:1?server-name=): after ? only server-name=name is understood; other settings are flags"}},
		{"user@a:1", []string{"--masters: item 1: a user or password needs the URL form, redis://user:password@host:port"}},
	}
	for _, tt := range tests {
		t.Run(tt.list, func(t *testing.T) {
			if got := faultsOf(t, []string{"--masters", tt.list}); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestNoFaultRepeatsAPassword(t *testing.T) {
	for _, list := range []string{
		"redis://u:hunter2@a:x", "redis://u:hunter,2@a:1", "redis://u:hunter2%@a:1", "redis://u:1/hunter@a",
		"redis://:hunter2@a/5", "http://u:hunter2@a", "u:hunter2@a:1", "redis://u:hunter#2@a",
		"redis://u:hunter2@a:1,redis://u:hunter2@a:1", "redis://u:hunter2@", "redis://u:x@hunter@a:x",
	} {
		for _, line := range faultsOf(t, []string{"--masters", list}) {
			if strings.Contains(line, "hunter") {
				t.Errorf("%s: %s", list, line)
			}
		}
	}
}

func TestSmallAndEvenNumbersAreWarnedOf(t *testing.T) {
	tests := []struct{ arg, value, want string }{
		{"--masters", "a", "1 master is no quorum"},
		{"--masters", "a,b", "2 masters: both must answer"},
		{"--masters", "a,b,c", ""},
		{"--masters", "a,b,c,d", "4 masters survive the loss of 1, no more than 3 masters do"},
		{"--embedded-masters", "6", "6 masters survive the loss of 2, no more than 5 masters do"},
	}
	for _, tt := range tests {
		got := strings.Join(parse(t, []string{tt.arg, tt.value}).Warnings, "\n")
		if !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s %s: warnings %q, want %q", tt.arg, tt.value, got, tt.want)
		}
	}
}

func TestSettingsWithoutEffectAreWarnedOf(t *testing.T) {
	certificate, _ := selfSigned(t)
	tests := []struct {
		args []string
		want []string
	}{
		{[]string{"--masters-password=x"}, []string{"--masters-password has no effect without --masters"}},
		{[]string{"--masters=a,b,c", "--embedded-masters=3"}, []string{"--embedded-masters has no effect with --masters"}},
		{[]string{"--masters=a,b,c", "--masters-tls-ca-cert-file=ca"}, []string{"--masters-tls-ca-cert-file has no effect without a rediss:// master"}},
		{[]string{"--masters=a,b,rediss://c", "--masters-tls-ca-cert-file=ca"}, nil},
	}
	for _, tt := range tests {
		c, err := Parse(tt.args, nil, files(map[string]string{"ca": certificate}))
		if err != nil || !reflect.DeepEqual(c.Warnings, tt.want) {
			t.Errorf("%q: got %q, %v, want %q", tt.args, c.Warnings, err, tt.want)
		}
	}
}

func TestTLS(t *testing.T) {
	certificate, key := selfSigned(t)
	_, otherKey := selfSigned(t)
	read := files(map[string]string{"ca": certificate, "cert": certificate, "key": key, "other": otherKey, "text": "x"})
	tests := []struct {
		name  string
		args  []string
		fault string // start of the only fault
	}{
		{"authority", []string{"--masters-tls-ca-cert-file=ca"}, ""},
		{"own certificate", []string{"--masters-tls-cert-file=cert", "--masters-tls-key-file=key"}, ""},
		{"no such file", []string{"--masters-tls-ca-cert-file=nope"}, "--masters-tls-ca-cert-file: open nope: file does not exist"},
		{"not PEM", []string{"--masters-tls-ca-cert-file=text"}, "--masters-tls-ca-cert-file: text holds no certificate in PEM form"},
		{"certificate alone", []string{"--masters-tls-cert-file=cert"}, "--masters-tls-cert-file: needs --masters-tls-key-file too"},
		{"key alone", []string{"--masters-tls-key-file=key"}, "--masters-tls-key-file: needs --masters-tls-cert-file too"},
		{"key of another", []string{"--masters-tls-cert-file=cert", "--masters-tls-key-file=other"}, "--masters-tls-cert-file: cert with other: tls: private key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse(append(tt.args, "--masters=rediss://a,rediss://b,c"), nil, read)
			if tt.fault != "" {
				f, _ := err.(Faults)
				if len(f) != 1 || !strings.HasPrefix(f[0], tt.fault) {
					t.Errorf("got %q, want %q…", f, tt.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			a, b := c.Masters[0].TLS(), c.Masters[1].TLS()
			if a.ServerName != "a" || b.ServerName != "b" || c.Masters[2].TLS != nil || a.InsecureSkipVerify {
				t.Errorf("got %q, %q and a third with TLS: %v", a.ServerName, b.ServerName, c.Masters[2].TLS != nil)
			}
			if got := (a.RootCAs != nil) != (len(a.Certificates) == 1); !got {
				t.Errorf("roots %v, certificates %d", a.RootCAs, len(a.Certificates))
			}
		})
	}
}

// selfSigned makes a certificate and its key in PEM form.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

package conf

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Master is one server of the quorum.
type Master struct {
	Address  string             // host:port
	Username string             // empty: the default user
	Password string             // empty: no AUTH
	TLS      func() *tls.Config // for the next connection; nil: plain TCP
}

// defaultPort is that of Redis, for a master that names none.
const defaultPort = "6379"

// parseMasters parses the list of --masters. What an item's URL does not say
// is taken from base, whose TLS is used for rediss:// only.
func parseMasters(list string, base Master) ([]Master, error) {
	var found []Master
	var faults []error
	seen := make(map[string]int) // address → number of the item
	for i, item := range strings.Split(list, ",") {
		item, label := strings.TrimSpace(item), fmt.Sprintf("item %d", i+1)
		if item != "" && !strings.Contains(list, "@") { // else a piece of it may be one of a password
			label += " (" + item + ")"
		}
		m, err := parseMaster(item, base)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", label, err))
			continue
		}
		if first, twice := seen[m.Address]; twice {
			faults = append(faults, fmt.Errorf("items %d and %d are both %s; a quorum needs independent servers", first, i+1, m.Address))
			continue
		}
		seen[m.Address] = i + 1
		found = append(found, m)
	}
	return found, errors.Join(faults...)
}

func parseMaster(item string, base Master) (Master, error) {
	if item == "" {
		return Master{}, errors.New("is empty; write host:port,host:port,host:port")
	}
	if strings.Contains(item, "://") {
		return parseURL(item, base)
	}
	if strings.Contains(item, "@") {
		return Master{}, errors.New("a user or password needs the URL form, redis://user:password@host:port")
	}
	address, err := masterAddress(item)
	if err != nil {
		return Master{}, err
	}
	base.Address, base.TLS = address, nil
	return base, nil
}

// parseURL returns no error that quotes the URL, as those of net/url do: there
// may be a password in it.
func parseURL(item string, m Master) (Master, error) {
	u, err := url.Parse(item)
	if err != nil || u.Hostname() == "" {
		return Master{}, errors.New("is not a URL like redis://user:password@host:port; in user and password write % and two hexadecimal digits for other characters than letters, digits and -._~")
	}
	switch strings.ToLower(u.Scheme) {
	case "redis":
		m.TLS = nil
	case "rediss":
		name, err := serverName(u)
		if err != nil {
			return Master{}, err
		}
		m.TLS = named(m.TLS, name)
	default:
		return Master{}, fmt.Errorf("%s:// is neither redis:// nor rediss:// (TLS)", u.Scheme)
	}
	if u.RawQuery != "" && m.TLS == nil || u.Fragment != "" {
		return Master{}, errors.New("a URL with ? or # is not supported; other settings are flags")
	}
	if err := checkDatabase(u.Path); err != nil {
		return Master{}, err
	}
	if m.Address, err = masterAddress(u.Host); err != nil {
		return Master{}, err
	}
	if name := u.User.Username(); name != "" {
		m.Username = name
	}
	if password, ok := u.User.Password(); ok {
		m.Password = password
	}
	return m, nil
}

// serverName is the name that the master's certificate has to be for: the host,
// unless the URL ends with ?server-name=….
func serverName(u *url.URL) (string, error) {
	if u.RawQuery == "" {
		return u.Hostname(), nil
	}
	name, only := strings.CutPrefix(u.RawQuery, "server-name=")
	if !only || name == "" || strings.ContainsAny(name, "&=%+;") {
		return "", errors.New("after ? only server-name=name is understood; other settings are flags")
	}
	return name, nil
}

// named is config for the server of that name.
func named(config func() *tls.Config, name string) func() *tls.Config {
	return func() *tls.Config {
		c := config().Clone()
		c.ServerName = name
		return c
	}
}

// checkDatabase refuses a database of the proxy's own: it is the client that
// chooses one.
func checkDatabase(path string) error {
	if db := strings.TrimPrefix(path, "/"); db != "" && db != "0" {
		return errors.New("a database other than 0 cannot be chosen here: a client that says SELECT n gets database n of every master")
	}
	return nil
}

// masterAddress takes host, host:port, [v6] and [v6]:port.
func masterAddress(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"), defaultPort
		if strings.Contains(host, ":") && !strings.HasPrefix(s, "[") {
			return "", errors.New("is not host:port; an IPv6 address goes in brackets, like [::1]:6379")
		}
	}
	if host == "" || strings.ContainsAny(host, "[]/ \t") {
		return "", errors.New("is not host:port, like redis-1:6379")
	}
	if port == "" {
		port = defaultPort
	}
	if checkPort(port) != nil || port == "0" {
		return "", errors.New("its port is not a number from 1 to 65535")
	}
	return net.JoinHostPort(strings.ToLower(host), port), nil
}

package conf

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Each function here makes the setter of an option: it stores a good value in
// dst and leaves dst alone otherwise.

func text(dst *string) func(string) error {
	return func(s string) error {
		*dst = s
		return nil
	}
}

func command(dst *Command, c Command) func(string) error {
	return func(string) error {
		*dst = c
		return nil
	}
}

func oneOf(dst *string, allowed ...string) func(string) error {
	return func(s string) error {
		if !slices.Contains(allowed, s) {
			return fmt.Errorf("%q is none of %s", s, strings.Join(allowed, ", "))
		}
		*dst = s
		return nil
	}
}

// yesNo takes what Go and what redis.conf call a boolean.
func yesNo(dst *bool) func(string) error {
	return func(s string) error {
		switch strings.ToLower(s) {
		case "true", "yes", "on", "1":
			*dst = true
		case "false", "no", "off", "0":
			*dst = false
		default:
			return fmt.Errorf("%q is neither true nor false", s)
		}
		return nil
	}
}

func number(dst *int, low, high int) func(string) error {
	return func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("%q is not a whole number", s)
		}
		if err != nil || n < low || n > high {
			return fmt.Errorf("%s is out of range: %d to %d", s, low, high)
		}
		*dst = n
		return nil
	}
}

// ppm takes 500 and 500ppm.
func ppm(dst *int) func(string) error {
	set := number(dst, 1, maxDriftPPM)
	return func(s string) error {
		if err := set(strings.TrimSpace(strings.TrimSuffix(s, "ppm"))); err != nil {
			return fmt.Errorf("%w; it is in parts per million, like 500 or 500ppm", err)
		}
		return nil
	}
}

// duration takes whole milliseconds within [low, high]: Redis counts in them.
func duration(dst *time.Duration, low, high time.Duration) func(string) error {
	return func(s string) error {
		d, err := time.ParseDuration(s)
		switch {
		case err != nil:
			return fmt.Errorf("%q is not a duration; write a number with its unit, like 50ms, 2s or 24h", s)
		case d < low || d > high:
			return fmt.Errorf("%s is out of range: %s", s, span(low, high))
		case d%time.Millisecond != 0:
			return fmt.Errorf("%s is not a whole number of milliseconds", s)
		}
		*dst = d
		return nil
	}
}

func span(low, high time.Duration) string {
	if high == forever {
		return fmt.Sprintf("at least %v", low)
	}
	return fmt.Sprintf("%v to %v", low, high)
}

// orZero lets 0 through, which a setting's lower bound would refuse. The
// setting is left at its zero value.
func orZero(set func(string) error) func(string) error {
	return func(s string) error {
		if d, err := time.ParseDuration(s); err == nil && d == 0 {
			return nil
		}
		return set(s)
	}
}

func logLevel(dst *slog.Level) func(string) error {
	return func(s string) error {
		var name string
		if err := oneOf(&name, "debug", "info", "warn", "error")(strings.ToLower(s)); err != nil {
			return err
		}
		return dst.UnmarshalText([]byte(name))
	}
}

// address takes host:port, where an empty host is every interface and the port
// is a number. Names are not looked up here.
func address(dst *string) func(string) error {
	return func(s string) error {
		host, port, err := net.SplitHostPort(s)
		if err != nil {
			return fmt.Errorf("%q is not host:port, like 127.0.0.1:6380 or [::1]:6380", s)
		}
		if err := checkPort(port); err != nil {
			return err
		}
		*dst = net.JoinHostPort(host, port)
		return nil
	}
}

// addressOrOff takes host:port, or "off", which is empty.
func addressOrOff(dst *string) func(string) error {
	set := address(dst)
	return func(s string) error {
		if s == "off" {
			*dst = ""
			return nil
		}
		return set(s)
	}
}

func checkPort(port string) error {
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("port %q is not a number from 0 to 65535", port)
	}
	return nil
}

// It becomes part of key names on the masters, which people type.
var goodName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func quorumName(dst *string) func(string) error {
	return func(s string) error {
		if !goodName.MatchString(s) {
			return fmt.Errorf("%q is not a name of 1 to 64 letters, digits, dots, dashes or underscores", s)
		}
		*dst = s
		return nil
	}
}

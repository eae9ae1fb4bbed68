package conf

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"
)

// Setting is one setting in force.
type Setting struct {
	Name   string // of the flag, without dashes
	Value  string // secrets are hidden
	Source string // the flag or variable it was given by, or "default"
}

// hidden stands for a secret.
const hidden = "(hidden)"

// Print writes the settings in force, a line each: name, value, and where it
// came from.
func (c *Config) Print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range c.Settings {
		fmt.Fprintf(table, "%s\t%s\t%s\n", s.Name, s.Value, s.Source)
	}
	return table.Flush()
}

// settings lists what is in force. Everything was parsed and found right.
func (p *parser) settings() (list []Setting) {
	for _, o := range p.options {
		if !o.isSwitch() {
			list = append(list, Setting{o.name, p.shown(o), p.origin(o)})
		}
	}
	return list
}

// shown is the value of an option as anybody may see it.
func (p *parser) shown(o *option) string {
	text := o.def
	if o.given && o.text != "" {
		text = o.text
	}
	switch {
	case text == "" && o.name != "address":
		return "-"
	case o.secret:
		return hidden
	case o.name == "masters":
		return maskedURLs(text)
	case o.name == "default-ttl":
		return p.DefaultTTL.String() // --max-ttl may have shortened it
	case o.name == "address":
		return p.Address
	}
	return text
}

func (p *parser) origin(o *option) string {
	if o.given && o.text != "" {
		return o.source
	}
	return "default"
}

// maskedURLs is a list of masters without its passwords.
func maskedURLs(list string) string {
	items := strings.Split(list, ",")
	for i, item := range items {
		items[i] = masked(strings.TrimSpace(item))
	}
	return strings.Join(items, ",")
}

func masked(item string) string {
	if !strings.Contains(item, "@") {
		return item
	}
	u, err := url.Parse(item)
	if err != nil {
		return hidden
	}
	if _, has := u.User.Password(); has {
		scheme, rest, _ := strings.Cut(item, "://")
		return scheme + "://" + url.PathEscape(u.User.Username()) + ":" + hidden + rest[strings.LastIndex(rest, "@"):]
	}
	return item
}

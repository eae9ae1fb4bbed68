package proxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
)

// statusPage is the page at / of the status server. The server draws all of it,
// so that it can be read without a script. The script only puts fresh parts into
// their places, which it gets from /live.
type statusPage struct {
	view     viewer
	template *template.Template
	css      template.CSS
	js       template.JS
	policy   string // Content-Security-Policy
	ctx      context.Context
}

//go:embed statuspage
var statusPageFiles embed.FS

// liveParts are the parts that are put in place, by the id of their element, and
// the templates of these names.
var liveParts = [...]string{"summary", "masters", "traffic", "contended", "locks", "failures"}

// newStatusPage returns the page; ctx ends what it does between requests.
func newStatusPage(ctx context.Context, view viewer) *statusPage {
	file := func(name string) string {
		b, err := statusPageFiles.ReadFile("statuspage/" + name)
		if err != nil {
			panic(err) // it is part of the program
		}
		return string(b)
	}
	p := &statusPage{view: view, ctx: ctx, css: template.CSS(file("page.css")), js: template.JS(file("page.js"))}
	p.template = template.Must(template.New("page").Parse(file("page.html")))
	p.policy = "default-src 'none'; script-src " + hashSource(string(p.js)) + "; style-src " + hashSource(string(p.css)) +
		"; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return p
}

// hashSource lets a Content-Security-Policy allow exactly this text.
func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// ServeHTTP answers with the page.
func (p *statusPage) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	err := p.template.Execute(&b, struct {
		view
		CSS template.CSS
		JS  template.JS
	}{p.view.look(p.ctx), p.css, p.js})
	if err != nil {
		plain(w, http.StatusInternalServerError, err.Error())
		return
	}
	p.header(w, "text/html; charset=utf-8")
	w.Write(b.Bytes())
}

// live answers with the parts of the page.
func (p *statusPage) live(w http.ResponseWriter, _ *http.Request) {
	v := p.view.look(p.ctx)
	answer := struct {
		Title string            `json:"title"`
		Now   string            `json:"now"`
		HTML  map[string]string `json:"html"`
	}{v.title(), v.Now, map[string]string{}}
	for _, name := range liveParts {
		var b bytes.Buffer
		if err := p.template.ExecuteTemplate(&b, name, v); err != nil {
			plain(w, http.StatusInternalServerError, err.Error())
			return
		}
		answer.HTML[name] = b.String()
	}
	p.header(w, "application/json")
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // no browser takes it for a page
	e.Encode(answer)
}

func (p *statusPage) header(w http.ResponseWriter, contentType string) {
	for name, value := range map[string]string{
		"Content-Type":                 contentType,
		"Content-Security-Policy":      p.policy,
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "no-referrer",
		"Cache-Control":                "no-store",
		"Cross-Origin-Resource-Policy": "same-origin",
	} {
		w.Header().Set(name, value)
	}
}

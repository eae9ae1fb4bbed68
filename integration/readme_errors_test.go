package integration

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// errorText is what a reply with an error begins with.
var errorText = regexp.MustCompile(`^(ERR|[A-Z]{5,}) .`)

// notErrors are commands, whose usage begins like an error.
var notErrors = regexp.MustCompile(`^(CLIENT|COMMAND|CONFIG|PUBSUB|REDLOCK|SCRIPT|SELECT) `)

// literals are the strings in the sources of the packages that answer clients.
func literals(t *testing.T) (all []string) {
	t.Helper()
	for _, dir := range []string{"proxy", "resp", "redlock"} {
		files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no sources in %s: %v", dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					if s, err := strconv.Unquote(l.Value); err == nil {
						all = append(all, s)
					}
				}
				return true
			})
		}
	}
	return all
}

// tableUnder returns the code in the first column of the README's table with
// this heading.
func tableUnder(t *testing.T, heading string) (texts []string) {
	t.Helper()
	readme, err := os.ReadFile(documents[0])
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(readme), heading+"\n|---|---|\n")
	if !found {
		t.Fatalf("the README has no table %q", heading)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.SplitSeq(table, "\n") {
		cell, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			texts = append(texts, m[1])
		}
	}
	return texts
}

// fragments are the fixed parts of a text of the README.
func fragments(text string) (parts []string) {
	for part := range strings.SplitSeq(text, "…") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// covers says that an error of the code begins with the text of the README. Of
// Redis's own words, which say ERR and do not speak of this proxy, nothing more
// is asked.
func covers(text, literal string) bool {
	if text == "ERR …" {
		return strings.HasPrefix(literal, "ERR ") && !strings.Contains(literal, "proxy")
	}
	return strings.HasPrefix(literal, fragments(text)[0])
}

// TestTheReadmeHasEveryError that clients can be answered, and no other.
func TestTheReadmeHasEveryError(t *testing.T) {
	told := tableUnder(t, "| a client reads | what to do |")
	all := literals(t)
	for _, literal := range all {
		if !errorText.MatchString(literal) || notErrors.MatchString(literal) {
			continue
		}
		known := strings.Contains(literal, "is not served by redlock-proxy: ")
		for _, text := range told {
			known = known || covers(text, literal)
		}
		if !known {
			t.Errorf("the README lacks the error %q", literal)
		}
	}
	everything := strings.Join(all, "\n")
	for _, text := range told {
		// "ERR x is …" is put together in the code, "ERR Protocol error" as well.
		for _, part := range fragments(strings.TrimPrefix(text, "NOQUORUM n of N ")) {
			if !strings.Contains(everything, strings.TrimPrefix(part, "ERR ")) {
				t.Errorf("the README tells of the error %q, but nothing says %q", text, part)
			}
		}
	}
}

// TestTheReadmesReasonsAreTold: what it has the log say of a master is in the
// sources, piece by piece.
func TestTheReadmesReasonsAreTold(t *testing.T) {
	everything := regexp.MustCompile(`%[dsv]|%\.\d+f`).ReplaceAllString(strings.Join(literals(t), "\n"), "…")
	readme, err := os.ReadFile(documents[0])
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(readme), "says of a master | what to do |\n|---|---|\n")
	if !found {
		t.Fatal("the README has no table of reasons")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.SplitSeq(table, "\n") {
		cell, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		cell = regexp.MustCompile(`\b[nmN]\b`).ReplaceAllString(cell, "…")
		for _, piece := range regexp.MustCompile(`…|[;,:] `).Split(cell, -1) {
			if piece = strings.Trim(piece, " .;:`"); piece != "" && piece != "and" && !strings.Contains(everything, piece) {
				t.Errorf("nothing says %q, as the README has it in %q", piece, cell)
			}
		}
	}
}

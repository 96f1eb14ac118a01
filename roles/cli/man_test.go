package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"sett/roles/role"
)

// TestManPages: each command has a page that groff sets without a warning, with every
// flag and argument and with the examples of its help, to the letter.
func TestManPages(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("no groff on the PATH: .ci/setup installs it")
	}
	s := newStage(t)
	stdout, stderr, err := s.run("man", "pages")
	s.must(err)
	if stdout != "" || !strings.HasPrefix(stderr, "sett: ") || !strings.Contains(stderr, " pages in ") {
		t.Errorf("%q, %q", stdout, stderr)
	}
	dir := filepath.Join(s.root, "pages")
	set := func(name string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), groff, "-ww", "-man", "-Tutf8", "-P-c", "-rLL=1000n", filepath.Join(dir, name+".1"))
		var warnings strings.Builder
		cmd.Stderr = &warnings
		out, err := cmd.Output()
		if err != nil || warnings.Len() > 0 {
			t.Errorf("%s: %v\n%s", name, err, warnings.String())
		}
		return withoutOverstrikes(string(out))
	}
	p, err := newParser(&root{})
	s.must(err)
	overview := set("sett")
	commands := (&manual{}).commands(p.Model.Node)
	for _, n := range commands {
		page := set(manName(n))
		has(t, page, append(pageWords(n), manName(n)+" - ", "EXIT STATUS", "SEE ALSO")...)
		if n.Parent == p.Model.Node {
			has(t, overview, manName(n)+"(1)", n.Help)
		}
	}
	for _, f := range p.Model.Flags {
		has(t, overview, "--"+f.Name, f.Help)
	}
	files, err := os.ReadDir(dir)
	s.must(err)
	if len(files) != len(commands)+1 {
		t.Errorf("%d pages for %d commands", len(files), len(commands))
	}
	stdout, _, err = s.run("man")
	s.must(err)
	written, err := os.ReadFile(filepath.Join(dir, "sett.1"))
	s.must(err)
	if stdout != string(written) {
		t.Error("sett man prints another page than it writes")
	}
}

// pageWords is what the page of a command has to have.
func pageWords(n *kong.Node) []string {
	words := []string{"sett " + commandPath(n)}
	for _, f := range n.Flags {
		words = append(words, "--"+f.Name, f.Help)
	}
	for _, p := range n.Positional {
		words = append(words, strings.ToUpper(p.Name), p.Help)
	}
	about, examples := splitExamples(n.Detail)
	words = append(words, examples...)
	for word := range strings.FieldsSeq(about) { // filled, so that lines are others
		words = append(words, strings.ReplaceAll(word, "…", "..."))
	}
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "…", "...")
	}
	return words
}

// withoutOverstrikes takes away what makes letters bold on a printer.
func withoutOverstrikes(s string) string {
	var out []rune
	for _, r := range s {
		if r == '\b' {
			out = out[:len(out)-1]
			continue
		}
		out = append(out, r)
	}
	return string(out)
}

// TestRoff: nothing that is text counts as a request or an escape.
func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		".nf":         `\&.nf`,
		"'br":         `\(aqbr`,
		"a\n.so /x":   "a\n\\&.so /x",
		`\fB --x`:     `\(rsfB \-\-x`,
		"  two\n\nx":  "\\&  two\n\\&\nx",
		"… é \"q\" `": `\&.\|.\|. \[u00E9] \(dqq\(dq \(ga`,
	} {
		if got := roffText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestManFails: what is in the way is named.
func TestManFails(t *testing.T) {
	s := newStage(t)
	if _, _, err := s.run("man", "sett.yml"); role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "make directory sett.yml") {
		t.Errorf("got %v", err)
	}
	s.must(os.MkdirAll(filepath.Join(s.root, "pages", "sett.1"), 0o755))
	if _, _, err := s.run("man", "pages"); role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "write manual pages") {
		t.Errorf("got %v", err)
	}
}

func TestSplitExamples(t *testing.T) {
	for help, want := range map[string]string{
		"About.\n\nExample: sett x":                         "About.|sett x",
		"About.\n\nExamples: sett x\n          sett y":      "About.|sett x|sett y",
		"A\nB\n\nExamples:\n  sett x    a word\n\n  sett z": "A\nB|sett x    a word|sett z",
		"About: Examples: none":                             "About: Examples: none",
	} {
		about, examples := splitExamples(help)
		if got := strings.Join(append([]string{about}, examples...), "|"); got != want {
			t.Errorf("%q: %q", help, got)
		}
	}
}

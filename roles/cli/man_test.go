package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sett/roles/cli/grammar"
	"sett/roles/cli/manual"

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
	s.Must(err)
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
	whole, _, err := grammarFor(nil)
	s.Must(err)
	overview := set("sett")
	commands := whole.Below()
	for _, n := range commands {
		page := set(pageName(n))
		has(t, page, append(pageWords(n), pageName(n)+" - ", "EXIT STATUS", "SEE ALSO")...)
		if n.Parent == whole {
			has(t, overview, pageName(n)+"(1)", n.Help)
		}
	}
	for _, f := range whole.Flags {
		has(t, overview, "--"+f.Name, f.Help)
	}
	files, err := os.ReadDir(dir)
	s.Must(err)
	if len(files) != len(commands)+1 {
		t.Errorf("%d pages for %d commands", len(files), len(commands))
	}
	stdout, _, err = s.run("man")
	s.Must(err)
	written, err := os.ReadFile(filepath.Join(dir, "sett.1"))
	s.Must(err)
	if stdout != string(written) {
		t.Error("sett man prints another page than it writes")
	}
}

// pageWords is what the page of a command has to have.
func pageWords(n *grammar.Command) []string {
	words := []string{"sett " + n.Path()}
	for _, f := range n.Flags {
		words = append(words, "--"+f.Name, f.Help)
	}
	for _, p := range n.Arguments {
		words = append(words, strings.ToUpper(p.Name), p.Help)
	}
	about, examples := manual.SplitExamples(n.Detail)
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

// TestManFails: what is in the way is named.
func TestManFails(t *testing.T) {
	s := newStage(t)
	if _, _, err := s.run("man", "sett.yml"); role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "make directory sett.yml") {
		t.Errorf("got %v", err)
	}
	s.Must(os.MkdirAll(filepath.Join(s.root, "pages", "sett.1"), 0o755))
	if _, _, err := s.run("man", "pages"); role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "write manual pages") {
		t.Errorf("got %v", err)
	}
}

// pageName is the name of a command's page.
func pageName(n *grammar.Command) string { return "sett-" + strings.ReplaceAll(n.Path(), " ", "-") }

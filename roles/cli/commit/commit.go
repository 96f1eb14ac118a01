// Package commit reads the commits that artefacts name, and shows them.
package commit

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
)

// Commit is a commit as programs read it.
type Commit struct {
	Hash    string    `json:"hash"`
	Parents []string  `json:"parents"`
	Author  string    `json:"author"`
	Email   string    `json:"email"`
	Date    time.Time `json:"date"` // the author's
	Subject string    `json:"subject"`
	Body    string    `json:"body"`
	Files   []File    `json:"files"`           // against the first parent
	Patch   string    `json:"patch,omitempty"` // with --diff

	written time.Time // the date in the author's zone
}

// File is a file that a commit changed.
type File struct {
	Path    string `json:"path"`
	From    string `json:"from,omitempty"` // its name before
	Added   int    `json:"added"`          // lines
	Deleted int    `json:"deleted"`
	Binary  bool   `json:"binary"`
}

// WritePatch writes the patch: unchanged into a file or pipe, for git to apply; for a
// terminal, or with colours, it is painted and free of control characters.
func (v *Commit) WritePatch(on *term.Terminal) error {
	if !on.Colour && !role.IsTerminal(on.Stdout) {
		return term.WriteAll(on.Stdout, v.Patch)
	}
	var out strings.Builder
	body := false // between hunks, lines are the patch's own
	for line := range strings.Lines(v.Patch) {
		line = strings.TrimSuffix(line, "\n")
		as := term.Plain
		switch {
		case strings.HasPrefix(line, "diff --git "):
			body, as = false, term.Bold
		case strings.HasPrefix(line, "@@ "):
			body, as = true, term.Accent
		case !body:
			as = term.Bold
		case strings.HasPrefix(line, "+"):
			as = term.Good
		case strings.HasPrefix(line, "-"):
			as = term.Bad
		}
		out.WriteString(on.Paint(role.CleanText(line), as) + "\n")
	}
	return term.WriteAll(on.Stdout, out.String())
}

// Write shows the commit as git show --stat does.
func (v *Commit) Write(on *term.Terminal) error {
	var out strings.Builder
	out.WriteString(on.Paint("commit "+v.Hash, term.Warn) + "\n")
	if len(v.Parents) > 1 {
		out.WriteString("Merge:  " + strings.Join(shortHashes(v.Parents), " ") + "\n")
	}
	fmt.Fprintf(&out, "Author: %s <%s>\n", role.Clean(v.Author), role.Clean(v.Email))
	fmt.Fprintf(&out, "Date:   %s\n\n", v.written.Format("Mon Jan 2 15:04:05 2006 -0700"))
	for line := range strings.Lines(strings.TrimRight(v.Subject+"\n\n"+v.Body, "\n") + "\n") {
		out.WriteString(strings.TrimRight("    "+role.CleanText(strings.TrimSuffix(line, "\n")), " ") + "\n")
	}
	if len(v.Files) > 0 {
		out.WriteString("\n")
	}
	if err := term.WriteAll(on.Stdout, out.String()); err != nil {
		return err
	}
	return WriteStat(on, v.Files)
}

func shortHashes(all []string) []string {
	out := make([]string, len(all))
	for i, h := range all {
		out[i] = words.Commit(h)
	}
	return out
}

// WriteStat shows how much of each file was changed, as git diff --stat does.
func WriteStat(on *term.Terminal, files []File) error {
	const bars = 40
	most, width := 1, 0
	for _, f := range files {
		most = max(most, f.Added+f.Deleted)
		width = max(width, utf8.RuneCountInString(f.name()))
	}
	scale := func(n int) int {
		if most <= bars {
			return n
		}
		return (n*bars + most - 1) / most
	}
	digits := len(strconv.Itoa(most))
	var out strings.Builder
	for _, f := range files {
		gap := strings.Repeat(" ", width-utf8.RuneCountInString(f.name()))
		if f.Binary {
			fmt.Fprintf(&out, " %s%s | %*s\n", f.name(), gap, digits, "Bin")
			continue
		}
		bar := on.Paint(strings.Repeat("+", scale(f.Added)), term.Good) + on.Paint(strings.Repeat("-", scale(f.Deleted)), term.Bad)
		out.WriteString(strings.TrimRight(fmt.Sprintf(" %s%s | %*d %s", f.name(), gap, digits, f.Added+f.Deleted, bar), " ") + "\n")
	}
	if len(files) > 0 {
		fmt.Fprintf(&out, " %s\n", Sum(files))
	}
	return term.WriteAll(on.Stdout, out.String())
}

// Sum counts files and lines, as the last line of git diff --stat does.
func Sum(files []File) string {
	added, deleted := 0, 0
	for _, f := range files {
		added, deleted = added+f.Added, deleted+f.Deleted
	}
	return fmt.Sprintf("%s changed, %s(+), %s(-)", words.Count(len(files), "file"), words.Count(added, "insertion"), words.Count(deleted, "deletion"))
}

// name is the file's name for people, with the old one of a renamed file.
func (f File) name() string {
	if f.From != "" {
		return role.Clean(f.From) + " => " + role.Clean(f.Path)
	}
	return role.Clean(f.Path)
}

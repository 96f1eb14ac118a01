package store

// This file has the form of a leftover.
//
// The commit of the files builds on the tree's start and on the commits of the tool's HEAD. Where the tool's
// repository names other commits, the leftover is one more commit, with the same files: it builds on the commit of the
// files, its first parent, and on the others, which its message names. So the commit of the files does not claim to
// have them merged, and a tree may start from it.

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Kept are the changes that a tool left in its tree.
type Kept struct {
	Commit  string   // of all; empty: there are none
	Files   string   // the commit of the files and of HEAD: Commit, where nothing is beside
	Beside  []Ref    // commits that HEAD does not reach, by their names in the tool's repository
	LeftOut []string // the changes that are not kept, each with the reason, for people
}

// Lines of a leftover's message.
const (
	besideLine  = "Also-kept: "
	leftOutLine = "Left-out: "
)

// message is a message with the lines that tell of the leftover.
func (k Kept) message(text string) string {
	var b strings.Builder
	for _, r := range k.Beside {
		fmt.Fprintf(&b, "%s%s %s\n", besideLine, r.Commit, r.Name)
	}
	for _, l := range k.LeftOut {
		fmt.Fprintf(&b, "%s%s\n", leftOutLine, l)
	}
	if b.Len() == 0 {
		return text
	}
	return text + "\n\n" + strings.TrimSuffix(b.String(), "\n")
}

// ReadKept reads a leftover. A commit of another form, such as a tool's own, is one of files alone. What the message
// says is believed as far as the commit has it.
func ReadKept(ctx context.Context, s *Store, commit string) (Kept, error) {
	k := Kept{Commit: commit, Files: commit}
	out, err := s.git(ctx, "log", "-1", "--no-show-signature", "--format=%P%x00%B", commit)
	if err != nil {
		return k, fmt.Errorf("read leftover %.12s: %w", commit, err)
	}
	of, text, _ := strings.Cut(out, "\x00")
	parents := strings.Fields(of)
	for row := range strings.Lines(text) {
		if why, ok := strings.CutPrefix(line(row), leftOutLine); ok {
			k.LeftOut = append(k.LeftOut, why)
		}
		if r, ok := strings.CutPrefix(line(row), besideLine); ok && len(parents) > 1 {
			if hash, name, _ := strings.Cut(r, " "); slices.Contains(parents[1:], hash) {
				k.Beside = append(k.Beside, Ref{name, hash})
			}
		}
	}
	if len(k.Beside) > 0 {
		k.Files = parents[0]
	}
	return k, nil
}

// packed are the branches, tags and stashes among refs, as git reads them from its files packed-refs and logs/refs/stash.
func packed(refs []Ref) (text, stashes string) {
	last := ""
	for _, r := range slices.Backward(refs) { // the newest stash comes first, and in the log last
		kind, name, _ := strings.Cut(strings.TrimPrefix(r.Name, "refs/"), "/")
		if r.Name == stashRef || strings.HasPrefix(r.Name, "refs/") && (kind == "heads" || kind == "tags") && plainBranch(name) {
			text += r.Commit + " " + r.Name + "\n"
		}
		if r.Name == stashRef || strings.HasPrefix(r.Name, stashRef+"@") {
			stashes += cmp.Or(last, strings.Repeat("0", len(r.Commit))) + " " + r.Commit + " sett <sett@localhost> 1 +0000\tkept\n"
			last = r.Commit
		}
	}
	return text, stashes
}

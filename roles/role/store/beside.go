package store

// This file makes the tree of a conflict that a tool has to decide.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sett/blackboard"
	"sett/roles/role"
)

// beside returns the tree that git wrote, and in it the versions of each file that git could not mark: beside it,
// under names of their own. The file has marks that name them, so that it stays known to git, and nobody can take it
// for merged.
func (u *unmerged) beside(ctx context.Context, s *Store) (string, error) {
	var texts, entries []string // an entry without an object is that of the next text
	for i := range u.files {
		f := &u.files[i]
		if len(f.Decisions()) == 0 {
			continue
		}
		for _, v := range []*blackboard.ConflictVersion{f.Ours, f.Theirs} {
			switch {
			case v == nil:
			case v.Mode == blackboard.ModeSubmodule: // a folder that a tool without git could not move
				texts, entries = append(texts, "Subproject commit "+v.Object+"\n"), append(entries, "100644 \x00"+v.At)
			default:
				entries = append(entries, v.Mode+" "+v.Object+"\x00"+v.At)
			}
		}
		if marksFit(f) {
			texts, entries = append(texts, u.marks(f)), append(entries, plainMode(f)+" \x00"+f.File)
		}
	}
	if len(entries) == 0 {
		return u.tree, nil
	}
	shelf, err := os.MkdirTemp(s.Dir, "taking-")
	if err != nil {
		return "", fmt.Errorf("make the tree of a conflict: %w", role.Cause(err))
	}
	defer func() { _ = os.RemoveAll(shelf) }() // else the next start of the role does it
	objects, err := storeTexts(ctx, s, shelf, texts)
	if err != nil {
		return "", err
	}
	var info strings.Builder
	for _, e := range entries {
		head, name, _ := strings.Cut(e, "\x00")
		if strings.HasSuffix(head, " ") {
			head, objects = head+objects[0], objects[1:]
		}
		info.WriteString(head + "\t" + name + "\x00")
	}
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(shelf, "index")}
	for _, c := range []command{{args: []string{"read-tree", u.tree}}, {args: []string{"update-index", "-z", "--index-info"}, stdin: info.String()}} {
		c.env = index
		if _, err := s.run(ctx, c); err != nil {
			return "", err
		}
	}
	out, err := s.run(ctx, command{args: []string{"write-tree"}, env: index})
	return line(out), err
}

// storeTexts stores texts and returns their objects.
func storeTexts(ctx context.Context, s *Store, shelf string, texts []string) ([]string, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	if err := inherit(s.Dir, shelf); err != nil {
		return nil, err
	}
	var paths strings.Builder
	for i, text := range texts {
		name := fmt.Sprintf("text-%d", i)
		if err := os.WriteFile(filepath.Join(shelf, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
		if err := inherit(s.Dir, filepath.Join(shelf, name)); err != nil {
			return nil, err
		}
		paths.WriteString(filepath.Base(shelf) + "/" + name + "\n")
	}
	out, err := s.run(ctx, command{args: []string{"hash-object", "-w", "--no-filters", "--stdin-paths"}, stdin: paths.String()})
	objects := strings.Fields(out)
	if err == nil && len(objects) != len(texts) {
		err = fmt.Errorf("git hash-object names %d objects for %d files", len(objects), len(texts))
	}
	return objects, err
}

// marksFit says whether a file with marks can be there: a directory, or a submodule, may have its name.
func marksFit(f *blackboard.ConflictFile) bool {
	for _, v := range []*blackboard.ConflictVersion{f.Ours, f.Theirs} {
		if v != nil && v.Mode == blackboard.ModeSubmodule {
			return false
		}
	}
	return f.Kind != kindDirectory
}

// plainMode is the mode of a file with marks.
func plainMode(f *blackboard.ConflictFile) string {
	for _, v := range []*blackboard.ConflictVersion{f.Ours, f.Theirs} {
		if v != nil && (v.Mode == "100644" || v.Mode == "100755") {
			return v.Mode
		}
	}
	return "100644"
}

// marks is the text of a file that git could not mark.
func (u *unmerged) marks(f *blackboard.ConflictFile) string {
	side := func(v *blackboard.ConflictVersion) string {
		if v == nil {
			return "This side has no such file."
		}
		return "The version of this side is " + role.Clean(v.At)
	}
	return fmt.Sprintf("%s: %s\n<<<<<<< %s\n%s\n=======\n%s\n>>>>>>> %s\n", role.Clean(f.File), advice(f), u.sides[0], side(f.Ours), side(f.Theirs), u.sides[1])
}

// advice names the kind of a conflict and the way to decide it.
func advice(f *blackboard.ConflictFile) string {
	name := role.Clean(f.File)
	do := fmt.Sprintf("give the right version the name %s, or remove %s, and leave no %s~COMMIT", name, name, name)
	switch {
	case f.Kind == kindDirectory:
		do = fmt.Sprintf("give the file another name, or remove it, and leave no %s~COMMIT", name)
	case f.Ours != nil && f.Ours.Mode == blackboard.ModeSubmodule, f.Theirs != nil && f.Theirs.Mode == blackboard.ModeSubmodule:
		do = fmt.Sprintf("leave %s as it is, or commit another one there (git update-index --cacheinfo 160000,COMMIT,%s), or remove it, and leave no %s~COMMIT", name, name, name)
	}
	return fmt.Sprintf("%s (%s): %s", f.Words(), f.Kind, do)
}

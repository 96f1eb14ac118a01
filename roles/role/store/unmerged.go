package store

// This file reads the conflicts of a merge, of which git itself leaves stages in an index. The tree of a tool has no
// such index: a file that git cannot mark has its versions beside it.

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/lfs"
)

// unmerged is a merge that git cannot make by itself.
type unmerged struct {
	sides [2]string // ours and theirs
	tree  string    // that git wrote
	files []blackboard.ConflictFile
}

// stage is one record of git's about a file.
type stage struct {
	mode, object string
	of           int // 1: the base, 2: ours, 3: theirs
	path, file   string
}

// notice is one message of git's about a merge.
type notice struct {
	paths []string
	kind  string
}

// readUnmerged merges two commits that conflict. It has no files where this git can merge them.
func readUnmerged(ctx context.Context, s *Store, ours, theirs string) (u unmerged, err error) {
	out, err := s.git(ctx, "merge-tree", "--write-tree", "-z", "--messages", "--allow-unrelated-histories", ours, theirs)
	if exitCode(err) != 1 {
		return u, err
	}
	u = unmerged{sides: [2]string{ours, theirs}}
	tree, stages, notices, err := parseUnmerged(out)
	if err != nil {
		return u, fmt.Errorf("merge %s with %s: %w", ours, theirs, err)
	}
	u.tree = tree
	u.place(stages)
	u.tell(stages, notices)
	for i := range u.files {
		if err := u.look(ctx, s, &u.files[i]); err != nil {
			return u, err
		}
	}
	return u, nil
}

// parseUnmerged reads the answer of git merge-tree -z.
func parseUnmerged(out string) (tree string, stages []stage, notices []notice, err error) {
	wrong := fmt.Errorf("git merge-tree says %.200q", role.Clean(out))
	parts := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	tree, parts = parts[0], parts[1:]
	for ; len(parts) > 0 && parts[0] != ""; parts = parts[1:] {
		head, path, _ := strings.Cut(parts[0], "\t")
		f := strings.Fields(head)
		if len(f) != 3 || path == "" {
			return "", nil, nil, wrong
		}
		of, err := strconv.Atoi(f[2])
		if err != nil || of < 1 || of > 3 {
			return "", nil, nil, wrong
		}
		stages = append(stages, stage{f[0], f[1], of, path, path})
	}
	for parts = parts[min(1, len(parts)):]; len(parts) > 0; {
		n, err := strconv.Atoi(parts[0])
		if err != nil || n < 0 || len(parts) < n+3 {
			break // git 2.39 ends with advice about submodules
		}
		if kind, ok := strings.CutPrefix(parts[n+1], "CONFLICT"); ok {
			notices = append(notices, notice{parts[1 : n+1], strings.Trim(kind, " ()")})
		}
		parts = parts[n+3:]
	}
	return tree, stages, notices, nil
}

var furtherName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(_[0-9]+)?$`) })

// place gathers the records of each file. Where two things of one name are in each other's way git has put one at
// FILE~COMMIT: no commit can have a file with its own hash in the name.
func (u *unmerged) place(stages []stage) {
	moved := map[string]string{}
	for _, g := range stages {
		if g.of == 1 {
			continue
		}
		side := "~" + u.sides[g.of-2]
		if at := strings.LastIndex(g.path, side); at > 0 && furtherName().MatchString(g.path[at+len(side):]) {
			moved[g.path] = g.path[:at]
		}
	}
	for i := range stages {
		g := &stages[i]
		v := &blackboard.ConflictVersion{Mode: g.mode, Object: g.object}
		if file, ok := moved[g.path]; ok {
			g.file, v.At = file, g.path
		}
		f := u.file(g.file)
		switch g.of {
		case 1:
			f.Base, v.At = v, ""
		case 2:
			f.Ours = v
		case 3:
			f.Theirs = v
		}
	}
	slices.SortStableFunc(u.files, func(a, b blackboard.ConflictFile) int { return strings.Compare(a.File, b.File) })
}

// file returns the entry of a file, a new one if there is none yet.
func (u *unmerged) file(name string) *blackboard.ConflictFile {
	i := slices.IndexFunc(u.files, func(f blackboard.ConflictFile) bool { return f.File == name })
	if i < 0 {
		i, u.files = len(u.files), append(u.files, blackboard.ConflictFile{File: name})
	}
	return &u.files[i]
}

const (
	kindContents  = "contents"
	kindSubmodule = "submodule"
	kindBinary    = "binary"
	kindModes     = "distinct modes"
	kindDirectory = "file/directory"
)

// weights are those of kinds of one file, of which the lightest says the most.
var weights = map[string]int{kindDirectory: -1, "modify/delete": 1, kindSubmodule: 2, kindBinary: 3, kindContents: 4}

// tell gives each file the kind of its conflict. One that git tells of without a record of any file is named as well.
func (u *unmerged) tell(stages []stage, notices []notice) {
	files := map[string]string{}
	for _, g := range stages {
		files[g.path] = g.file
	}
	told := map[string]bool{}
	for _, n := range notices {
		if strings.HasPrefix(n.kind, kindSubmodule) {
			n.kind = kindSubmodule
		}
		if !slices.ContainsFunc(n.paths, func(p string) bool { return files[p] != "" }) && len(n.paths) > 0 {
			files[n.paths[0]] = n.paths[0]
		}
		var names []string
		for _, p := range n.paths {
			if file := files[p]; file != "" && !slices.Contains(names, file) {
				names = append(names, file)
			} else if file == "" && !slices.Contains(names, p) {
				names = append(names, p)
			}
		}
		for _, p := range n.paths {
			if files[p] == "" {
				continue
			}
			f := u.file(files[p])
			if told[f.File] && weights[n.kind] >= weights[f.Kind] {
				continue
			}
			told[f.File], f.Kind, f.Paths = true, n.kind, nil
			if len(names) > 1 {
				f.Paths = names
			}
		}
	}
}

// look finds out whether a file has git's marks, and gives its versions names beside it where not.
func (u *unmerged) look(ctx context.Context, s *Store, f *blackboard.ConflictFile) error {
	f.Kind = cmp.Or(f.Kind, kindContents)
	if both := f.Ours != nil && f.Theirs != nil; f.Kind == kindContents && both {
		ours, theirs := f.Ours.Mode, f.Theirs.Mode
		switch {
		case ours == blackboard.ModeSubmodule || theirs == blackboard.ModeSubmodule:
			f.Kind = kindSubmodule
		case ours != blackboard.ModeLink:
			text, err := s.git(ctx, "cat-file", "blob", u.tree+":"+f.File)
			if err != nil {
				return err
			}
			f.Marks = strings.Contains("\n"+text, "\n<<<<<<< "+u.sides[0])
			large := strings.HasPrefix(text, lfs.Begins)
			if large {
				if large, err = bothPointers(ctx, s, f); err != nil {
					return err
				}
			}
			switch {
			case large:
				f.Kind, f.Marks = kindBinary, false
			case !f.Marks && ours != theirs:
				f.Kind = kindModes
			}
		}
	}
	for i, v := range []*blackboard.ConflictVersion{f.Ours, f.Theirs} {
		if v != nil && v.At == "" && !f.Marks {
			v.At = u.free(f.File, u.sides[i])
		}
	}
	return nil
}

// bothPointers says whether both versions are pointers of git LFS: marks among their lines would be of no use to anybody.
func bothPointers(ctx context.Context, s *Store, f *blackboard.ConflictFile) (bool, error) {
	for _, v := range []*blackboard.ConflictVersion{f.Ours, f.Theirs} {
		text, err := s.git(ctx, "cat-file", "blob", v.Object)
		if _, ok := lfs.Parse(text); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// longestName is the length of a file's name, in bytes, that all usual file systems take.
const longestName = 255

// free returns a name beside a file for the version of one side: FILE~COMMIT, as git does it. The same conflict has the same names.
func (u *unmerged) free(file, side string) string {
	dir, base := "", file
	if i := strings.LastIndex(file, "/"); i >= 0 {
		dir, base = file[:i+1], file[i+1:]
	}
	for n := -1; ; n++ {
		end := "~" + side
		if n >= 0 {
			end += fmt.Sprintf("_%d", n)
		}
		cut := base
		if most := longestName - len(end); len(cut) > most {
			cut = strings.ToValidUTF8(cut[:most], "")
		}
		name := dir + cut + end
		if !slices.ContainsFunc(u.files, func(f blackboard.ConflictFile) bool { return slices.Contains(f.Decisions(), name) }) {
			return name
		}
	}
}

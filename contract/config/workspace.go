package config

import (
	"slices"
	"strings"

	"sett/blackboard"
)

// mostTreePaths bounds each list of paths of a workspace.
const mostTreePaths = 64

// treePaths is a list of paths in an agent's tree, each once. Git's patterns and its own
// folder are none.
func (r *reader) treePaths(into *[]string) part {
	p := r.paths(into)
	p.read = func(n *node, path string) {
		r.readOnce(n, path, into, func(item *node, s string) (string, bool) {
			clean, ok := r.inRepository(item, path, s)
			switch {
			case !ok:
				return "", false
			case strings.ContainsAny(clean, "*?[]\\\"!#:") || strings.TrimSpace(clean) != clean || strings.ContainsFunc(clean, func(c rune) bool { return c < ' ' || c == 0x7f }):
				r.add(item.at, "write the path out, without patterns", "%s: %s is no plain path", path, quote(s))
			case slices.ContainsFunc(strings.Split(clean, "/"), func(part string) bool { return strings.EqualFold(part, ".git") }):
				r.add(item.at, "take it out: each tree has a repository of its own", "%s: %s is git's own", path, quote(s))
			case len(clean) > 200 || len(*into) >= mostTreePaths:
				r.add(item.at, "name the folder above them", "%s: a path of more than 200 characters, or more than %d paths", path, mostTreePaths)
			default:
				return clean, true
			}
			return "", false
		})
	}
	return p
}

// resolveWorkspace checks the paths of an agent's tree.
func (d *decoder) resolveWorkspace(a *Agent, at position, path string) {
	w := a.Workspace
	switch own := slices.Concat(w.Keep, w.Copy); {
	case len(own)+len(w.Sparse) > 0 && w.Mode == blackboard.NoWorkspace:
		d.add(at, "give it mode: ro or rw, or take them out", "%s: keep, copy and sparse are about a tree, and it has none", path)
	case len(w.Keep) > 0 && w.Mode != blackboard.ReadWrite:
		d.add(at, "give it mode: rw, or take keep out", "%s: a tree that is only read has nothing to keep", path)
	default:
		for i, one := range own {
			for _, other := range own[:i] {
				if one == other || strings.HasPrefix(one, other+"/") || strings.HasPrefix(other, one+"/") {
					d.add(at, "name each place once", "%s: %s and %s of keep and copy are the same place", path, quote(other), quote(one))
				}
			}
		}
	}
}

package config

import (
	"path"
	"slices"
	"strings"
)

// Local has the walls of agents' programs in local mode.
type Local struct {
	// Write lists the files and directories that they may write beside their own trees: in
	// file order, absolute, below ~, or from the repository's root; never nil.
	Write []string `json:"write"`
}

func defaultLocal() Local { return Local{Write: []string{}} }

// Places returns the absolute paths of Write. Without a home directory, paths below it are
// left out.
func (l *Local) Places(root, home string) []string {
	all := []string{}
	for _, p := range l.Write {
		below, inHome := strings.CutPrefix(p, "~")
		switch {
		case inHome && home == "":
		case inHome:
			all = append(all, path.Join(home, below))
		case path.IsAbs(p):
			all = append(all, p)
		default:
			all = append(all, path.Join(root, p))
		}
	}
	return all
}

// machinePaths is a list of files and directories of a machine, each once.
func (r *reader) machinePaths(into *[]string) part {
	return part{
		read: func(n *node, key string) {
			r.readOnce(n, key, into, func(item *node, s string) (string, bool) {
				const hint = "a path from the repository's root, or such as ~/.cache or /srv/builds"
				switch {
				case strings.TrimSpace(s) == "":
					r.add(item.at, hint, "%s: an empty path", key)
				case strings.HasPrefix(s, "~") && s != "~" && !strings.HasPrefix(s, "~/"):
					r.add(item.at, hint, "%s: %s is another user's home directory", key, quote(s))
				case strings.ContainsAny(s, "*?[\x00"):
					r.add(item.at, "name the directory; everything below it is meant", "%s: %s is a pattern, and only paths are read", key, quote(s))
				default:
					return path.Clean(s), true
				}
				return "", false
			})
		},
		shape: func() *schema {
			return orNothing(&schema{Type: kinds{"array"}, Unique: true, Default: []string{}, Items: &schema{Type: scalars(), Pattern: visible}})
		},
		write: func() any { return append([]string{}, *into...) },
	}
}

// The rights of programs without containers. Whoever agreed to the first agreed to the
// others.
var (
	anyPlace  = Right{"runtime", "runs programs on this machine, without containers"}
	ownPlaces = Right{"runtime", "runs programs on this machine, without containers, that write in their own directories"}
)

// placeRights are the places that programs without containers may write.
func placeRights(c *Config, _ string) (all []Right) {
	if c.Runtime != RuntimeProcess || c.Local == nil {
		return nil
	}
	for _, p := range c.Local.Write {
		all = append(all, Right{"local.write", "lets its programs write " + shownPath(p)})
	}
	return all
}

// Covers says whether agreed rights have a right.
func Covers(agreed []Right, r Right) bool {
	if r == ownPlaces || r.Key == "local.write" {
		return slices.Contains(agreed, r) || slices.Contains(agreed, anyPlace)
	}
	return slices.Contains(agreed, r)
}

// CoversPrograms says whether agreed rights have that of any program without containers.
func CoversPrograms(agreed []Right) bool { return slices.Contains(agreed, anyPlace) }

// OfPrograms says whether a right is one of programs without containers.
func (r Right) OfPrograms() bool { return r.Key == "runtime" || r.Key == "local.write" }

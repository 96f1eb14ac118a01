package git

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// neutral are the settings with which git runs no program in the place of those that a
// repository's own configuration may name, by the first and last part of a key. A merge
// driver that does nothing would take one side; one that fails is a conflict.
var neutral = []struct{ first, last, value string }{
	{"filter", "clean", ""}, {"filter", "smudge", ""}, {"filter", "process", ""}, {"filter", "required", "false"},
	{"merge", "driver", "exit 1"}, {"diff", "command", ""}, {"diff", "textconv", ""}, {"diff", "external", ""},
	{"core", "alternaterefscommand", "false"}, {"core", "editor", "false"}, {"core", "pager", "cat"}, {"core", "askpass", "false"},
	{"gpg", "program", "false"},
}

// fixed are settings that hold whatever a configuration says. Paths that are git's own
// on some file system are never written.
var fixed = []string{
	"core.protectHFS=true", "core.protectNTFS=true", "core.untrackedCache=false", "submodule.recurse=false",
	"gc.auto=0", "maintenance.auto=false", "log.showSignature=false",
}

// Guarded returns the repository for commands that merge or write a working tree. They run
// none of the programs that the repository's own configuration names, which an agent
// may have written: where the user's own configuration has the setting, that applies, and
// else none does. It returns the names of filters that are left out so.
func (g Repository) Guarded(ctx context.Context) (guarded Repository, filters []string, err error) {
	out, err := g.Run(ctx, "config", "--list", "--show-scope", "-z")
	if err != nil {
		return g, nil, err
	}
	users, planted := map[string]string{}, []string{}
	parts := strings.Split(out, "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		key, value, _ := strings.Cut(parts[i+1], "\n")
		switch parts[i] {
		case "local", "worktree":
			if _, ok := neutralOf(key); ok && !slices.Contains(planted, key) {
				planted = append(planted, key)
			}
		default:
			users[key] = value
		}
	}
	settings := [][2]string{}
	for _, s := range fixed {
		key, value, _ := strings.Cut(s, "=")
		settings = append(settings, [2]string{key, value})
	}
	for _, key := range planted {
		value, own := users[key]
		if !own {
			value, _ = neutralOf(key)
		}
		settings = append(settings, [2]string{key, value})
		if name := filterOf(key); name != "" && !own && !slices.Contains(filters, name) {
			filters = append(filters, name)
		}
	}
	return g.with(settings), filters, nil
}

// neutralOf returns the value of a setting with which git runs nothing; false: the
// setting names no program.
func neutralOf(key string) (string, bool) {
	first, _, _ := strings.Cut(key, ".")
	last := key[strings.LastIndexByte(key, '.')+1:]
	for _, n := range neutral {
		if n.first == first && n.last == last {
			return n.value, true
		}
	}
	return "", false
}

// filterOf returns the name of the filter that a setting gives a program.
func filterOf(key string) string {
	rest, ok := strings.CutPrefix(key, "filter.")
	at := strings.LastIndexByte(rest, '.')
	if !ok || at < 0 || rest[at+1:] == "required" {
		return ""
	}
	return rest[:at]
}

// with returns the repository with more settings, in the environment: unlike -c it takes
// names with any character.
func (g Repository) with(settings [][2]string) Repository {
	const counts = "GIT_CONFIG_COUNT="
	n := 0
	environ := slices.DeleteFunc(slices.Clone(g.Environ), func(v string) bool {
		text, ok := strings.CutPrefix(v, counts)
		if ok {
			n, _ = strconv.Atoi(text)
		}
		return ok
	})
	for _, s := range settings {
		environ = append(environ, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, s[1]))
		n++
	}
	environ = append(environ, counts+strconv.Itoa(n))
	g.Environ = environ
	return g
}

// at returns the repository for commands in one of its working trees, which is that
// directory whatever the configuration says.
func (g Repository) at(dir string) Repository {
	g.Dir, g.Environ = dir, append(slices.Clone(g.Environ), "GIT_WORK_TREE="+dir)
	return g
}

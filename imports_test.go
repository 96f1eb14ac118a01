// Package main_test holds the house to its rules: it reads the imports of every
// Go file in the repository, whatever system or tag the file is for.
package main_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// module is the module's name, the first element of its packages' import paths.
const module = "sett"

// packages are all that may exist, by folder. A new one is added here, on purpose.
var packages = []string{
	".", "agents", "agents/demo",
	"blackboard", "blackboard/embedded", "blackboard/redis", "blackboard/redis/redistest",
	"contract/config", "contract/env", "contract/spelling", "contract/tool",
	"runtime", "runtime/docker", "runtime/process",
	"roles/bench", "roles/blackboard", "roles/cli",
	"roles/cub", "roles/cub/assemble", "roles/cub/toolrun", "roles/cub/worktree",
	"roles/e2e", "roles/keeper", "roles/notifier",
	"roles/orchestrator", "roles/orchestrator/arbiter", "roles/orchestrator/pool", "roles/orchestrator/supervisor",
	"roles/pause", "roles/role",
}

// owners are the folders that may import a third-party module. Folders include
// what is below them; those in tests may do so in test files only.
var owners = []struct {
	module  string
	folders []string
	tests   []string
}{
	{"github.com/redis/rueidis", []string{"blackboard/redis"}, []string{"blackboard", "roles/bench", "roles/e2e"}},
	{"github.com/docker/docker", []string{"runtime/docker"}, nil},
	{"github.com/docker/go-connections", []string{"runtime/docker"}, nil},
	{"github.com/distribution/reference", []string{"runtime/docker"}, nil},
	{"github.com/moby/patternmatcher", []string{"runtime/docker"}, nil},
	{"github.com/goccy/go-yaml", []string{"contract/config"}, []string{"roles/e2e"}},
	{"github.com/alecthomas/kong", []string{".", "roles"}, nil},
	{"github.com/alicebob/miniredis/v2", []string{"blackboard/embedded"}, nil},
	{"github.com/ory/dockertest/v3", []string{"blackboard/redis/redistest"}, []string{".", "blackboard", "runtime", "roles"}},
	{"github.com/santhosh-tekuri/jsonschema/v6", nil, []string{"contract/config"}},
	{"github.com/creack/pty", nil, []string{"roles/cli"}},
	{"github.com/rogpeppe/go-internal", nil, []string{".", "agents", "blackboard", "contract", "runtime", "roles"}},
}

// pure packages do no I/O and read no clock; time, ids and randomness are passed
// to them.
var pure = []string{
	"blackboard", "contract/config", "contract/env", "contract/spelling", "contract/tool", "runtime", "roles/orchestrator/arbiter",
}

// impure are the imports that would let a pure package reach the world, with
// everything below them, and what below them is harmless.
var impure = []string{
	"crypto/rand", "database", "io/ioutil", "log", "math/rand", "net", "os", "plugin", "syscall", "testing", "golang.org/x/sys",
}
var harmless = []string{"net/netip", "net/url"}

// clocks are the names of package time that read or follow a clock.
var clocks = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}

// implementations are chosen in main.go and on the roles' wiring pages. Tests
// may name them anywhere: they run on the real thing.
var implementations = []string{"blackboard/redis", "blackboard/redis/redistest", "blackboard/embedded", "runtime/process", "runtime/docker"}

// within says whether p is the folder or below it.
func within(p, folder string) bool { return p == folder || strings.HasPrefix(p, folder+"/") }

// withinAny is within for one of several folders.
func withinAny(p string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return within(p, f) })
}

// source is a Go file as the rules see it.
type source struct {
	name string // path in the repository
	dir  string
	test bool
	*ast.File
}

// check returns what breaks the rules in the tree, sorted.
func check(tree fs.FS) ([]string, error) {
	sources, err := parse(tree)
	if err != nil {
		return nil, err
	}
	var broken []string
	say := func(where, format string, args ...any) {
		broken = append(broken, where+": "+fmt.Sprintf(format, args...))
	}
	commented := map[string]bool{}
	tested := map[string]bool{} // folders with nothing but test files
	for _, s := range sources {
		if _, seen := tested[s.dir]; !seen {
			tested[s.dir] = true
		}
		tested[s.dir] = tested[s.dir] && s.test
	}
	for _, s := range sources {
		if s.Doc != nil && (!s.test || tested[s.dir]) {
			commented[s.dir] = true
		}
		checkImports(s, say)
		if !s.test && slices.Contains(pure, s.dir) {
			checkClock(s, say)
		}
	}
	for dir := range tested {
		if !slices.Contains(packages, dir) {
			say(dir, "package is not listed in imports_test.go")
		}
		if !commented[dir] {
			say(dir, "package has no package comment")
		}
	}
	slices.Sort(broken)
	return slices.Compact(broken), nil
}

// parse reads the tree's Go files, without those that Go itself ignores.
func parse(tree fs.FS) ([]source, error) {
	var all []source
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if name != "." && (base[0] == '.' || base[0] == '_' || base == "testdata") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() || path.Ext(name) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			return fmt.Errorf("parse %s: %w", name, err)
		}
		all = append(all, source{name, path.Dir(name), strings.HasSuffix(name, "_test.go"), f})
		return nil
	})
	return all, err
}

// checkImports applies every rule about who may import what to one file.
func checkImports(s source, say func(where, format string, args ...any)) {
	for _, spec := range s.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has refused such a file already
		}
		checkOwner(s, imp, say)
		isPure := !s.test && slices.Contains(pure, s.dir)
		if isPure && withinAny(imp, impure) && !withinAny(imp, harmless) {
			say(s.name, "a pure package imports %s", imp)
		}
		ours, ok := strings.CutPrefix(imp, module+"/")
		if !ok {
			continue
		}
		if isPure && !slices.Contains(pure, ours) {
			say(s.name, "a pure package imports %s, which is not", ours)
		}
		checkRole(s, ours, say)
		for _, impl := range implementations {
			if within(ours, impl) && !within(s.dir, impl) && !s.test && !wires(s) {
				say(s.name, "imports the implementation %s outside main.go and the roles' wiring", ours)
			}
		}
	}
}

// checkOwner: technology lives in leaves.
func checkOwner(s source, imp string, say func(where, format string, args ...any)) {
	for _, o := range owners {
		if !within(imp, o.module) || withinAny(s.dir, o.folders) || s.test && withinAny(s.dir, o.tests) {
			continue
		}
		say(s.name, "imports %s, which belongs to %v and the tests of %v", imp, o.folders, o.tests)
	}
}

// lent are the leaves of the cub that other roles may import, the one exception
// between roles: `sett try` promises to run an agent by the very code that the cub
// runs it with, and the notifier's command is a tool like any other. They know
// neither the cub nor the blackboard.
var lent = map[string][]string{
	"roles/cli":      {"roles/cub/assemble", "roles/cub/toolrun", "roles/cub/worktree"},
	"roles/notifier": {"roles/cub/toolrun"},
}

// checkRole: roles import no other role but what all share, and nobody but main
// imports roles.
func checkRole(s source, ours string, say func(where, format string, args ...any)) {
	if !within(ours, "roles") || s.dir == "." {
		return
	}
	if s.test && withinAny(s.dir, []string{"roles/bench", "roles/e2e"}) {
		return
	}
	if !within(s.dir, "roles") {
		say(s.name, "imports the role %s", ours)
		return
	}
	if slices.Contains(lent[s.dir], ours) {
		return
	}
	if role(s.dir) != role(ours) && ours != "roles/role" {
		say(s.name, "role %s imports role %s", role(s.dir), ours)
	}
}

// role returns the role that a folder below roles belongs to.
func role(dir string) string {
	return strings.Split(dir+"/", "/")[1]
}

// wires says whether the file may choose implementations.
func wires(s source) bool {
	return s.name == "main.go" || path.Dir(s.dir) == "roles" && s.dir != "roles/role"
}

// checkClock finds every mention of a clock, called or passed on.
func checkClock(s source, say func(where, format string, args ...any)) {
	name := ""
	for _, spec := range s.Imports {
		if spec.Path.Value == `"time"` {
			name = "time"
			if spec.Name != nil {
				name = spec.Name.Name
			}
		}
	}
	if name == "." {
		say(s.name, "a pure package imports time without a name")
	}
	ast.Inspect(s.File, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || !slices.Contains(clocks, sel.Sel.Name) {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == name {
			say(s.name, "a pure package uses time.%s", sel.Sel.Name)
		}
		return true
	})
}

// TestImports checks the repository.
func TestImports(t *testing.T) {
	broken, err := check(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range broken {
		t.Error(b)
	}
}

// TestImportRules shows that each rule finds what it is for. An archive in
// testdata/imports is a small tree; its comment is what check must say of it,
// and nothing when the tree is in order.
func TestImportRules(t *testing.T) {
	archives, err := filepath.Glob("testdata/imports/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			comment, tree := unpack(string(text))
			got, err := check(tree)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(append(got, ""), "\n"); got != comment {
				t.Errorf("files %v: got\n%s\nwant\n%s", slices.Sorted(maps.Keys(tree)), got, comment)
			}
		})
	}
}

// unpack reads a txtar archive: a comment, then files after "-- name --" lines.
func unpack(text string) (comment string, files fstest.MapFS) {
	files = fstest.MapFS{}
	name, body := "", ""
	keep := func() {
		if name == "" {
			comment = body
			return
		}
		files[name] = &fstest.MapFile{Data: []byte(body)}
	}
	for line := range strings.Lines(text) {
		next, ok := strings.CutPrefix(line, "-- ")
		if next, end := strings.CutSuffix(next, " --\n"); ok && end {
			keep()
			name, body = next, ""
			continue
		}
		body += line
	}
	keep()
	return comment, files
}

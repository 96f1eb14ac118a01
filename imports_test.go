// Package main_test holds the house to its rules: it reads the imports of every
// Go file in the repository, whatever system or tag the file is for.
package main_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// module is the module's name, the first element of its packages' import paths.
const module = "sett"

// packages lists every package by its folder. A new package gets its line here,
// on purpose; a package that goes loses it.
var packages = []string{
	".",
	"agents",
	"agents/demo",
	"blackboard",
	"blackboard/boardtest",
	"blackboard/embedded",
	"blackboard/redis",
	"blackboard/redis/archive",
	"blackboard/redis/internal/store",
	"blackboard/redis/lua",
	"blackboard/redis/redistest",
	"contract/config",
	"contract/env",
	"contract/model",
	"contract/prompt",
	"contract/spelling",
	"contract/tool",
	"contract/trace",
	"roles",
	"roles/bench",
	"roles/blackboard",
	"roles/cli",
	"roles/cli/act", "roles/cli/blame", "roles/cli/board", "roles/cli/chart", "roles/cli/commit", "roles/cli/deploy", "roles/cli/doctor", "roles/cli/grammar", "roles/cli/instance", "roles/cli/landing", "roles/cli/ledger", "roles/cli/live",
	"roles/cli/logline", "roles/cli/manual", "roles/cli/pin", "roles/cli/shell", "roles/cli/starter", "roles/cli/status", "roles/cli/term", "roles/cli/term/ttytest", "roles/cli/trial", "roles/cli/ui",
	"roles/cub",
	"roles/cub/assemble",
	"roles/cub/door",
	"roles/cub/once",
	"roles/cub/toolrun",
	"roles/e2e",
	"roles/gateway",
	"roles/keeper",
	"roles/llm",
	"roles/notifier",
	"roles/orchestrator",
	"roles/orchestrator/arbiter",
	"roles/orchestrator/pool",
	"roles/orchestrator/report",
	"roles/orchestrator/supervisor",
	"roles/orchestrator/trace",
	"roles/pause",
	"roles/repository",
	"roles/role",
	"roles/role/confine", "roles/role/container", "roles/role/gateway", "roles/role/git", "roles/role/hosttest", "roles/role/lfs", "roles/role/modelclient", "roles/role/modeltest", "roles/role/otlp", "roles/role/persontest", "roles/role/provider", "roles/role/repository", "roles/role/store", "roles/role/words",
	"roles/view", "roles/view/flow", "roles/view/diagram", "roles/view/lineage", "roles/view/report",
	"runtime",
	"runtime/credentials",
	"runtime/docker",
	"runtime/docker/engine",
	"runtime/docker/image",
	"runtime/logfile",
	"runtime/process",
	"runtime/repofile",
	"runtime/roots",
}

// forTests are the packages that only test files import. Their own files count as
// test files.
var forTests = []string{"blackboard/boardtest", "blackboard/redis/redistest", "roles/role/hosttest", "roles/role/modeltest", "roles/role/persontest"}

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
	{"github.com/alecthomas/kong", []string{"roles/cli"}, nil},
	{"github.com/alicebob/miniredis/v2", []string{"blackboard/embedded"}, nil},
	{"github.com/yuin/gopher-lua", []string{"blackboard/embedded"}, nil},
	{"golang.org/x/crypto/x509roots/fallback", []string{"runtime/roots"}, nil},
	{"github.com/ory/dockertest/v3", []string{"blackboard/redis/redistest"}, []string{".", "blackboard", "runtime", "roles"}},
	{"github.com/santhosh-tekuri/jsonschema/v6", nil, []string{"contract/config"}},
	{"github.com/chromedp/chromedp", nil, []string{"roles/cli", "roles/e2e"}},
	{"github.com/chromedp/cdproto", nil, []string{"roles/cli"}},
	{"github.com/creack/pty", nil, []string{"roles/cli"}},
	{"github.com/muesli/cancelreader", []string{"roles/cli/term"}, nil},
	{"github.com/rivo/uniseg", []string{"roles/cli/term"}, nil},
	{"charm.land/bubbletea/v2", []string{"roles/cli/board"}, nil},
	{"github.com/charmbracelet/colorprofile", []string{"roles/cli/board"}, nil},
	{"github.com/rogpeppe/go-internal", nil, []string{".", "agents", "blackboard", "contract", "runtime", "roles"}},
}

// pure packages do no I/O and read no clock; time, ids and randomness are passed
// to them.
var pure = []string{
	"blackboard", "contract/config", "contract/env", "contract/model", "contract/prompt", "contract/spelling", "contract/tool", "contract/trace", "runtime", "roles/orchestrator/arbiter",
}

// impure are the imports that would let a pure package reach the world, with
// everything below them, and what below them is harmless.
var impure = []string{
	"crypto/rand", "database", "io/ioutil", "log", "math/rand", "net", "os", "plugin", "syscall", "testing", "golang.org/x/sys",
}
var harmless = []string{"net/netip", "net/url"}

// clocks are the names of package time that read or follow a clock.
var clocks = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}

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
		all = append(all, source{name, path.Dir(name),
			strings.HasSuffix(name, "_test.go") || slices.Contains(forTests, path.Dir(name)), f})
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
		checkRoom(s, imp, ours, say)
		if !ok {
			continue
		}
		if isPure && !slices.Contains(pure, ours) {
			say(s.name, "a pure package imports %s, which is not", ours)
		}
		if !s.test && slices.Contains(forTests, ours) {
			say(s.name, "imports %s, which is for tests", ours)
		}
		checkRole(s, ours, say)
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
	"roles/cli":       {"roles/cub/assemble"},
	"roles/cli/trial": {"roles/cub/door", "roles/cub/once", "roles/cub/toolrun"},
	"roles/llm":       {"roles/cub/toolrun"},
	"roles/notifier":  {"roles/cub/toolrun"},
}

// levels orders the rooms below roles/cli: a room imports only rooms of a lower level.
// A room that is not listed has the highest level, so rooms for one command do not
// know each other. The doctor asks by the code of sett up and of sett list, so it
// stands above them. All draw from roles/view, which knows no room: see checkRole.
var levels = map[string]int{
	"roles/cli/act": 1, "roles/cli/grammar": 1, "roles/cli/pin": 1, "roles/cli/term": 1,
	"roles/cli/instance": 2, "roles/cli/term/ttytest": 1, "roles/cli/live": 2, "roles/cli/logline": 2,
	"roles/cli/commit": 3, "roles/cli/deploy": 3, "roles/cli/ledger": 3, "roles/cli/chart": 3, "roles/cli/manual": 3, "roles/cli/status": 3,
	"roles/cli/doctor": 4, "roles/cli/landing": 4, "roles/cli/shell": 4, "roles/cli/starter": 4, "roles/cli/trial": 4,
}

// level returns the level of a room below roles/cli.
func level(dir string) int {
	if l, ok := levels[dir]; ok {
		return l
	}
	return 9
}

// checkRoom: below roles/cli, imports go down, and nobody knows kong.
func checkRoom(s source, imp, ours string, say func(where, format string, args ...any)) {
	if s.dir == "roles/cli" || !within(s.dir, "roles/cli") {
		return
	}
	if within(imp, "github.com/alecthomas/kong") {
		say(s.name, "imports kong, which belongs to roles/cli itself")
	}
	if within(ours, "roles/cli") && ours != s.dir && (ours == "roles/cli" || level(ours) >= level(s.dir)) {
		say(s.name, "imports %s, which is not below it", ours)
	}
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
	if s.test && s.dir == "roles/cub" && ours == "roles/repository" { // a cub is tested with the role that it depends on
		return
	}
	if !within(s.dir, "roles") {
		say(s.name, "imports the role %s", ours)
		return
	}
	if slices.Contains(lent[s.dir], ours) {
		return
	}
	if roleOf(s.dir) != roleOf(ours) && !within(ours, "roles/role") && !within(ours, "roles/view") {
		say(s.name, "role %s imports role %s", roleOf(s.dir), ours)
	}
}

// roleOf returns the role that a folder below roles belongs to.
func roleOf(dir string) string {
	return strings.Split(dir+"/", "/")[1]
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

// TestImportRules shows that each rule finds its breach. An archive in
// testdata/imports is a small tree; its comment is the answer of check.
func TestImportRules(t *testing.T) { eachArchive(t, "testdata/imports", check) }

// stale returns the listed packages and modules that the tree does not have: a
// package needs a Go file, a module an import.
func stale(sources []source, packages, modules []string) []string {
	dirs, imports := map[string]bool{".": true}, map[string]bool{}
	for _, s := range sources {
		for dir := s.dir; dir != "."; dir = path.Dir(dir) {
			dirs[dir] = true
		}
		for _, spec := range s.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			for p := imp; p != "."; p = path.Dir(p) {
				imports[p] = true
			}
		}
	}
	var gone []string
	for _, p := range packages {
		if !dirs[p] {
			gone = append(gone, p+": a rule names this package, which does not exist")
		}
	}
	for _, m := range modules {
		if !imports[m] {
			gone = append(gone, m+": a rule names this module, which nothing imports")
		}
	}
	slices.Sort(gone)
	return slices.Compact(gone)
}

// TestRuleNames checks the names in every list of this test's rules.
func TestRuleNames(t *testing.T) {
	names := slices.Concat(packages, pure, forTests, sett.Implementations, sett.Wiring, slices.Collect(maps.Keys(levels)))
	var modules []string
	for _, o := range owners {
		names = append(names, slices.Concat(o.folders, o.tests)...)
		modules = append(modules, o.module)
	}
	for from, to := range lent {
		names = append(append(names, from), to...)
	}
	sources, err := parse(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range stale(sources, names, modules) {
		t.Error(g)
	}
}

// TestStaleRules shows that a stale name is found, in the trees of testdata/stale
// with their lists in names.json.
func TestStaleRules(t *testing.T) {
	eachArchive(t, "testdata/stale", func(tree fs.FS) ([]string, error) {
		sources, err := parse(tree)
		if err != nil {
			return nil, err
		}
		text, err := fs.ReadFile(tree, "names.json")
		if err != nil {
			return nil, err
		}
		var names struct{ Packages, Modules []string }
		err = json.Unmarshal(text, &names)
		return stale(sources, names.Packages, names.Modules), err
	})
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

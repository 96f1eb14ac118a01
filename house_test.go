package main_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A house is a set of limits with the exceptions that still stand. An exception
// allows one name more than the limit, up to its number. The list only shrinks:
// an exception that nothing needs is an error, so a mend removes its line too.
type house struct {
	Files   int // product files in a folder
	Methods int // methods of a type, promoted ones of our own types included
	Wide    int // methods of an interface

	Implementations []string // folders that only wiring files may import
	Wiring          []string // folders with nothing but wiring files

	MayFiles   map[string]int // by folder
	MayMethods map[string]int // by type, as folder.Name
	MayWide    map[string]int // by interface
	MayWire    map[string]int // by folder: files that import an implementation
	MayEmbed   map[string]int // by type: structs it embeds that hold it
}

// sett is the repository's house.
var sett = house{
	Files: 50, Methods: 45, Wide: 6,

	Implementations: []string{
		"blackboard/redis", "blackboard/embedded", "runtime/process", "runtime/docker",
	},
	Wiring: []string{"roles/cli/instance"},

	MayFiles:   allow(),
	MayMethods: allow(),
	MayWide:    allow(),
	MayWire:    allow(),
	MayEmbed:   allow(),
}

// allow reads exceptions, each "name number".
func allow(lines ...string) map[string]int {
	may := map[string]int{}
	for _, line := range lines {
		name, number, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			panic("exception without a number: " + line)
		}
		may[name] = n
	}
	return may
}

// check returns every breach of the house's rules in the sources, sorted.
func (h house) check(sources []source) []string {
	var broken []string
	types := newTypes(sources)
	limit := func(rule string, found map[string]int, most int, may map[string]int) {
		for _, name := range slices.Sorted(maps.Keys(found)) {
			if n := found[name]; n > max(most, may[name]) {
				broken = append(broken, fmt.Sprintf("%s: %d %s, at most %d", name, n, rule, max(most, may[name])))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(may)) {
			if found[name] <= most {
				broken = append(broken, fmt.Sprintf("%s: the exception for %s is stale: remove it", name, rule))
			}
		}
	}
	files, wired := map[string]int{}, map[string]int{}
	for _, s := range sources {
		if s.test {
			continue
		}
		files[s.dir]++
		for _, name := range early(s) {
			broken = append(broken, fmt.Sprintf("%s: %s compiles a pattern when the program starts: make it at its first use", s.name, name))
		}
		if ours := h.implementation(s); ours != "" && !h.wires(s) {
			wired[s.dir]++
			if h.MayWire[s.dir] == 0 {
				broken = append(broken, fmt.Sprintf("%s: imports %s: only main.go and files called wire.go choose an implementation", s.name, ours))
			}
		}
	}
	for dir := range wired {
		if h.MayWire[dir] == 0 {
			delete(wired, dir) // each file has been named above
		}
	}
	methods, wide, embeds := map[string]int{}, map[string]int{}, map[string]int{}
	for name, t := range types {
		n := len(types.methods(name, nil))
		if t.isInterface() {
			wide[name] = n
			continue
		}
		methods[name] = n
		embeds[name] = len(types.holders(name))
	}
	limit("product files", files, h.Files, h.MayFiles)
	limit("files that choose an implementation", wired, 0, h.MayWire)
	limit("methods", methods, h.Methods, h.MayMethods)
	limit("methods in an interface", wide, h.Wide, h.MayWide)
	limit("embedded structs that hold the struct itself", embeds, 0, h.MayEmbed)
	slices.Sort(broken)
	return broken
}

// early returns the variables of a file for which a pattern is compiled at the start of
// every command, needed or not.
func early(s source) []string {
	var names []string
	for _, d := range s.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			v, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			for _, value := range v.Values {
				ast.Inspect(value, func(n ast.Node) bool {
					if f, ok := n.(*ast.SelectorExpr); ok && f.Sel.Name == "MustCompile" {
						names = append(names, v.Names[0].Name)
					}
					_, inside := n.(*ast.FuncLit)
					return !inside
				})
			}
		}
	}
	return names
}

// implementation returns the first implementation that a file from outside imports.
func (h house) implementation(s source) string {
	for _, spec := range s.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		ours, ok := strings.CutPrefix(imp, module+"/")
		if err == nil && ok && slices.ContainsFunc(h.Implementations, func(impl string) bool {
			return within(ours, impl) && !within(s.dir, impl)
		}) {
			return ours
		}
	}
	return ""
}

// wires says whether the file may choose implementations.
func (h house) wires(s source) bool {
	switch {
	case s.name == "main.go":
		return true
	case slices.Contains(h.Wiring, s.dir):
		return true
	}
	return path.Base(s.name) == "wire.go" && within(s.dir, "roles") && s.dir != "roles/role"
}

// declared is a type of ours with the methods that it declares.
type declared struct {
	source // the file with the declaration: its imports name the packages in expr
	expr   ast.Expr
	own    []string
}

// isInterface says whether the type is an interface.
func (d *declared) isInterface() bool { _, ok := d.expr.(*ast.InterfaceType); return ok }

// typeSet has every product type by folder and name: "roles/cub.worker".
type typeSet map[string]*declared

// newTypes collects the types of the product's files, and their methods.
func newTypes(sources []source) typeSet {
	all := typeSet{}
	for _, s := range sources {
		if s.test {
			continue
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				all[s.dir+"."+spec.Name.Name] = &declared{source: s, expr: spec.Type}
			}
			_, isFunc := n.(*ast.FuncDecl)
			return !isFunc // no types inside functions
		})
	}
	for _, s := range sources {
		if s.test {
			continue
		}
		for _, d := range s.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			if t := all[all.name(s, f.Recv.List[0].Type)]; t != nil {
				t.own = append(t.own, f.Name.Name)
			}
		}
	}
	return all
}

// name returns the full name of the type that an expression means, through
// pointers, parameters of types and aliases, or "" for one that is not ours.
func (all typeSet) name(s source, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		if full := s.dir + "." + e.Name; all[full] != nil {
			return full
		}
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			if dir := imported(s, x.Name); dir != "" && all[dir+"."+e.Sel.Name] != nil {
				return dir + "." + e.Sel.Name
			}
		}
	case *ast.StarExpr:
		return all.name(s, e.X)
	case *ast.ParenExpr:
		return all.name(s, e.X)
	case *ast.IndexExpr:
		return all.name(s, e.X)
	case *ast.IndexListExpr:
		return all.name(s, e.X)
	}
	return ""
}

// imported returns the folder that a package's name stands for in a file.
func imported(s source, name string) string {
	for _, spec := range s.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		dir, ours := strings.CutPrefix(imp, module+"/")
		if err != nil || !ours {
			continue
		}
		if spec.Name != nil && spec.Name.Name == name || spec.Name == nil && path.Base(dir) == name {
			return dir
		}
	}
	return ""
}

// embedded returns the types of ours that a struct or an interface embeds.
func (all typeSet) embedded(name string) []string {
	t := all[name]
	var fields *ast.FieldList
	switch e := t.expr.(type) {
	case *ast.StructType:
		fields = e.Fields
	case *ast.InterfaceType:
		fields = e.Methods
	default:
		if to := all.name(t.source, t.expr); to != "" && to != name {
			return []string{to} // an alias, or a type of the same shape
		}
		return nil
	}
	var names []string
	for _, f := range fields.List {
		if len(f.Names) > 0 {
			continue
		}
		if n := all.name(t.source, f.Type); n != "" {
			names = append(names, n)
		}
	}
	return names
}

// methods returns the names of a type's methods, promoted ones included.
func (all typeSet) methods(name string, seen []string) map[string]bool {
	if slices.Contains(seen, name) {
		return nil
	}
	seen = append(seen, name)
	t := all[name]
	set := map[string]bool{}
	for _, m := range t.own {
		set[m] = true
	}
	if i, ok := t.expr.(*ast.InterfaceType); ok {
		for _, f := range i.Methods.List {
			for _, n := range f.Names {
				set[n.Name] = true
			}
		}
	}
	for _, e := range all.embedded(name) {
		maps.Copy(set, all.methods(e, seen))
	}
	return set
}

// holders returns the structs that a struct embeds, at any depth, and that hold
// it: in a field of its type, or of an interface that the struct satisfies.
func (all typeSet) holders(name string) []string {
	if _, ok := all[name].expr.(*ast.StructType); !ok {
		return nil
	}
	mine := all.methods(name, nil)
	var found []string
	todo, seen := all.embedded(name), map[string]bool{}
	for len(todo) > 0 {
		h := todo[0]
		todo = todo[1:]
		if seen[h] {
			continue
		}
		seen[h] = true
		todo = append(todo, all.embedded(h)...)
		if all.holds(h, name, mine) {
			found = append(found, h)
		}
	}
	return found
}

// holds says whether a struct has a field of a type, or of an interface of ours
// with two methods or more that the type has all of.
func (all typeSet) holds(holder, name string, methods map[string]bool) bool {
	t := all[holder]
	st, ok := t.expr.(*ast.StructType)
	if !ok {
		return false
	}
	held := false
	for _, f := range st.Fields.List {
		if len(f.Names) == 0 {
			continue
		}
		ast.Inspect(f.Type, func(n ast.Node) bool {
			if _, isFunc := n.(*ast.FuncType); isFunc {
				return false
			}
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			field := all.name(t.source, e)
			if field == "" {
				return true
			}
			held = held || field == name
			if all[field].isInterface() {
				want := all.methods(field, nil)
				have := 0
				for m := range want {
					if methods[m] {
						have++
					}
				}
				held = held || len(want) > 1 && have == len(want)
			}
			return true
		})
	}
	return held
}

// TestHouse checks the repository.
func TestHouse(t *testing.T) {
	sources, err := parse(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range sett.check(sources) {
		t.Error(b)
	}
}

// TestHouseRules shows that each rule finds its breach. An archive in
// testdata/house is a small tree with limits of its own in house.json; its
// comment is the answer of check.
func TestHouseRules(t *testing.T) {
	eachArchive(t, "testdata/house", func(tree fs.FS) ([]string, error) {
		sources, err := parse(tree)
		if err != nil {
			return nil, err
		}
		text, err := fs.ReadFile(tree, "house.json")
		if err != nil {
			return nil, err
		}
		var h house
		if err := json.Unmarshal(text, &h); err != nil {
			return nil, err
		}
		return h.check(sources), nil
	})
}

// eachArchive runs check on the small tree of each archive in a folder, and
// compares its answer with the archive's comment.
func eachArchive(t *testing.T, dir string, check func(tree fs.FS) ([]string, error)) {
	t.Helper()
	archives, err := filepath.Glob(dir + "/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives in %s: %v", dir, err)
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

package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// comments are what the source says beside the fields of its types, and the values
// that its types of words can have.
type comments struct {
	fields map[string]string   // by PACKAGE.TYPE.FIELD
	values map[string][]string // by PACKAGE.TYPE
}

// readComments reads the source of packages.
func readComments(t *testing.T, dirs ...string) *comments {
	t.Helper()
	c := &comments{map[string]string{}, map[string][]string{}}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeSpec:
					c.typed(file.Name.Name, n)
				case *ast.ValueSpec:
					if !strings.HasSuffix(path, "_test.go") { // a test's own values are none of the interface
						c.valued(file.Name.Name, n)
					}
				}
				return true
			})
		}
	}
	return c
}

func (c *comments) typed(pkg string, n *ast.TypeSpec) {
	body, ok := n.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range body.Fields.List {
		for _, name := range f.Names {
			text := f.Comment.Text() // beside it
			if text == "" {
				text = f.Doc.Text()
			}
			c.fields[pkg+"."+n.Name.Name+"."+name.Name] = strings.TrimSpace(text)
		}
	}
}

func (c *comments) valued(pkg string, n *ast.ValueSpec) {
	of, ok := n.Type.(*ast.Ident)
	if !ok || len(n.Values) != 1 {
		return
	}
	if lit, ok := n.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
		if s, err := strconv.Unquote(lit.Value); err == nil && s != "" && !slices.Contains(c.values[pkg+"."+of.Name], s) {
			c.values[pkg+"."+of.Name] = append(c.values[pkg+"."+of.Name], s)
		}
	}
}

// of returns what is said of a field: its comment, and what it can be.
func (c *comments) of(f field) string {
	text := strings.Join(strings.Fields(c.fields[f.in.String()+"."+f.goName]), " ")
	of := f.of
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if all := c.values[of.String()]; of.Kind() == reflect.String && of.Name() != "string" && len(all) > 0 {
		one := strings.Join(all, ", ")
		if text != "" {
			one = text + ": " + one
		}
		return one
	}
	return text
}

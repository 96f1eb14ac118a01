package main_test

import (
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"sett/contract/env"
)

// TestVariablesKnown: each variable that a product file names is in env.Names, so that no
// image of a container sets it, and none is there that no program names.
func TestVariablesKnown(t *testing.T) {
	sources, err := parse(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	const list = "contract/env/whole.go"
	name := regexp.MustCompile(`^SETT(_[A-Z0-9]+)+$`)
	named := map[string]string{env.RedisURL: ""}
	for _, s := range sources {
		if s.test || s.name == list {
			continue
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && name.MatchString(text) {
					named[text] = s.name
				}
			}
			return true
		})
	}
	for variable, file := range named {
		if !slices.Contains(env.Names, variable) {
			t.Errorf("%s names %s, which is not in env.Names (%s): an image could set it", file, variable, list)
		}
	}
	for i, variable := range env.Names {
		if _, ok := named[variable]; !ok || slices.Index(env.Names, variable) != i {
			t.Errorf("env.Names has %s, which no program names, or twice", variable)
		}
	}
}

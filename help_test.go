package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"sett/roles/blackboard"
	"sett/roles/cli"
	"sett/roles/cub"
	"sett/roles/gateway"
	"sett/roles/keeper"
	"sett/roles/llm"
	"sett/roles/notifier"
	"sett/roles/orchestrator"
	"sett/roles/pause"
	"sett/roles/repository"
	"sett/roles/role"
)

// helpWidth is the widest line of a help page, in columns.
const helpWidth = 80

// wideLines returns every line of the pages that is wider than helpWidth.
func wideLines(pages map[string]string) []string {
	var wide []string
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		for line := range strings.Lines(pages[name]) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > helpWidth {
				wide = append(wide, fmt.Sprintf("%s: %d columns: %s", name, n, line))
			}
		}
	}
	return wide
}

// TestHelpRules checks the width of every help page, and that global flags and exit
// codes stand once, in `sett --help`.
func TestHelpRules(t *testing.T) {
	pages := helpPages(t)
	for _, wide := range wideLines(pages) {
		t.Error(wide)
	}
	for name, page := range pages {
		for _, once := range []string{"--color WHEN", "130 interrupted"} {
			if strings.Contains(page, once) != (name == "sett") {
				t.Errorf("%s: %q does not stand just in sett --help", name, once)
			}
		}
	}
}

// TestHelpWidthRules shows that a wide line is found, in the pages of testdata/help.
func TestHelpWidthRules(t *testing.T) {
	eachArchive(t, "testdata/help", func(tree fs.FS) ([]string, error) {
		pages := map[string]string{}
		for name, file := range tree.(fstest.MapFS) {
			pages[name] = string(file.Data)
		}
		return wideLines(pages), nil
	})
}

// runRole starts a role.
type runRole = func(context.Context, role.Env) error

// listed finds a command in a table of commands: two spaces, its name, its help.
var listed = regexp.MustCompile(`(?m)^  ([a-z-]+) {2,}\S`)

// helpPages returns the text of every help page by its command: those of the
// CLI, of its subcommands, of the fields they print and of the roles.
func helpPages(t *testing.T) map[string]string {
	pages := map[string]string{}
	roles := map[string]runRole{
		"blackboard": blackboard.Run, "cub": cub.Run, "keeper": keeper.Run,
		"llm": llm.Run, "model-gateway": gateway.Run, "notifier": notifier.Run, "repository": repository.Run, "orchestrator": orchestrator.Run, "pause": pause.Run,
	}
	show := func(run runRole, name string, args ...string) string {
		var out bytes.Buffer
		e := role.OS(args, role.Build{Version: "dev"})
		e.Stdout, e.Stderr, e.Stdin = &out, &out, strings.NewReader("")
		if err := run(t.Context(), e); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		pages[name] = out.String()
		return out.String()
	}
	var read func(path []string)
	read = func(path []string) {
		name := strings.Join(append([]string{"sett"}, path...), " ")
		table := show(cli.Run, name, append(slices.Clone(path), "--help")...)
		if strings.Contains(table, "sett help fields") {
			show(cli.Run, name+", fields", append([]string{"help", "fields"}, path...)...)
		}
		if len(path) > 0 {
			var ok bool
			if _, table, ok = strings.Cut(table, "\nCommands:\n"); !ok {
				return
			}
			table, _, _ = strings.Cut(table, "\n\n")
		}
		for _, m := range listed.FindAllStringSubmatch(table, -1) {
			if r := roles[m[1]]; len(path) == 0 && r != nil {
				show(r, "sett "+m[1], "--help")
			} else {
				read(append(slices.Clone(path), m[1]))
			}
		}
	}
	read(nil)
	for name := range roles {
		if pages["sett "+name] == "" {
			t.Errorf("sett --help does not list the role %s", name)
		}
	}
	if len(pages) < 45 {
		t.Fatalf("only %d help pages: %v", len(pages), slices.Sorted(maps.Keys(pages)))
	}
	return pages
}

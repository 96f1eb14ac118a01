package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// spelledOut is all that the grammar says of a command.
func spelledOut(n *kong.Node) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q %q hidden %v, group %v\n", n.FullPath(), n.Help, n.Detail, n.Hidden, n.Group)
	for _, f := range n.Flags {
		fmt.Fprintf(&b, "  %s, %q %v\n", f.Summary(), f.Help, *f.Tag)
	}
	for _, p := range n.Positional {
		fmt.Fprintf(&b, "  %s, %q %v\n", p.Summary(), p.Help, *p.Tag)
	}
	for _, child := range n.Children {
		b.WriteString(spelledOut(child))
	}
	return b.String()
}

// The grammar of one command is that part of the whole one, for every command.
func TestParserOf(t *testing.T) {
	whole, err := newParser(&root{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range whole.Model.Children {
		one, err := newParserOf(&root{}, []string{"-q", n.Name, "x"})
		if err != nil {
			t.Errorf("%s: %v", n.Name, err)
			continue
		}
		if len(one.Model.Children) != 1 {
			t.Errorf("%s: %q", n.Name, commandNames(one))
			continue
		}
		if got, want := spelledOut(one.Model.Children[0]), spelledOut(n); got != want {
			t.Errorf("%s alone:\n%s\nwithin all:\n%s", n.Name, got, want)
		}
		app, all := *one.Model.Node, *whole.Model.Node
		app.Children, all.Children = nil, nil
		if got, want := spelledOut(&app), spelledOut(&all); got != want {
			t.Errorf("sett with %s alone:\n%s\nwith all:\n%s", n.Name, got, want)
		}
	}
}

// What is parsed with few commands is what would be parsed with all, errors included.
func TestParse(t *testing.T) {
	for _, line := range []string{
		"version", "-C up list", "-qC up list", "forage list", "-f x.yml logs -f", "-fx.yml logs", "ledger export", "ledger up", "up down",
		"--name up", "--name=up down", "version version", "vrsion", "list --naem x", "-q", "__complete list", "config -o yaml",
		"show", "answer", "retry", "unearth", "ledger", "ledger -q", "unearth 7XK --raw --diff", "unearth 7XK --raw --meta --diff", "up --runtime x",
		"--color no up", "show -o xml", "completion tcsh", "completion", "wait --for x", "goals --status done", "graph -o svg", "-o json",
		"forage --wait=x", "logs -n x", "up --timeout", "list --all=maybe", "restart", "review 7XK", "ledger import",
	} {
		args := strings.Fields(line)
		r, parsed, err := parse(args)
		all := &root{}
		parser, buildErr := newParser(all)
		if buildErr != nil {
			t.Fatal(buildErr)
		}
		want, wantErr := parser.Parse(ownShorts(parser, args)) // by kong itself, with hooks
		if p := (*kong.ParseError)(nil); errors.As(wantErr, &p) {
			want = p.Context
		}
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != usageError(parser, want, wantErr).Error() {
			t.Errorf("%q: %v, with all commands %v", line, err, wantErr)
		}
		if err != nil {
			continue
		}
		chosen := func(r *root, c *kong.Context) string {
			return fmt.Sprintf("%s %+v %+v", c.Command(), r.globals, c.Selected().Target.Interface())
		}
		if got, want := chosen(r, parsed), chosen(all, want); got != want {
			t.Errorf("%q: %s\nwith all commands %s", line, got, want)
		}
	}
}

// validate knows all that the commands ask of their flags: none is required, belongs with
// another or comes from the environment.
func TestValidateKnowsAll(t *testing.T) {
	parser, err := newParser(&root{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range append(parser.Model.Leaves(false), parser.Model.Node) {
		for _, f := range n.Flags {
			if f.Required || len(f.And)+len(f.Envs)+len(f.LastWins) > 0 {
				t.Errorf("%s --%s: validate does not check it", n.Path(), f.Name)
			}
		}
		if _, ok := n.Target.Addr().Interface().(command); ok == (n == parser.Model.Node) {
			t.Errorf("%s: whether it can be run: %v", n.Path(), ok)
		}
	}
}

// Words of other tools lead to our commands.
func TestForeignCommands(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"ps": "list", "stop": "down", "rm": "down --purge", "run": "forage", "events": "watch", "inspect": "show", "cat": "unearth", "artifacts": "hoard", "export": "ledger export", "import": "ledger import", "drop": "leftovers drop"} {
		_, _, err := parse([]string{word})
		if got := hint(err); got != "did you mean \""+want+"\"?" {
			t.Errorf("sett %s: %q", word, got)
		}
	}
}

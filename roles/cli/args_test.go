package cli

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/roles/cli/instance"
	"sett/roles/role"
)

// TestOwnShorts: -f follows after `logs`, and names the configuration everywhere else.
func TestOwnShorts(t *testing.T) {
	for _, c := range []struct {
		args   []string
		file   string
		follow bool
	}{
		{[]string{"logs", "-f"}, "", true},
		{[]string{"-f", "x.yml", "logs", "-f"}, "x.yml", true},
		{[]string{"-fx.yml", "logs"}, "x.yml", false},
		{[]string{"-C", "logs", "-f", "x.yml", "list"}, "x.yml", false},
		{[]string{"list", "-f", "x.yml"}, "x.yml", false},
		{[]string{"logs", "-fn", "3", "--config", "x.yml"}, "x.yml", true},
	} {
		r := &root{}
		p, err := newParser(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Parse(ownShorts(p, c.args)); err != nil {
			t.Errorf("%q: %v", c.args, err)
			continue
		}
		if r.Config != c.file || r.Logs.Follow != c.follow {
			t.Errorf("%q: file %q, follow %v", c.args, r.Config, r.Logs.Follow)
		}
	}
}

func TestWantsHelp(t *testing.T) {
	for _, c := range []struct{ args, rest []string }{
		{[]string{"--help"}, []string{}},
		{[]string{"up", "-h"}, []string{"up"}},
		{[]string{"help", "up"}, []string{"up"}},
		{[]string{"-C", "help", "--name=x", "help", "up"}, []string{"-C", "help", "--name=x", "up"}},
		{[]string{"--name", "help", "up"}, nil},
		{[]string{"forage", "help"}, nil},
		{[]string{"forage", "--", "--help"}, nil},
		{[]string{"up"}, nil},
	} {
		rest, ok := wantsHelp(c.args)
		if ok != (c.rest != nil) || !slices.Equal(rest, c.rest) {
			t.Errorf("%q: %q, %v", c.args, rest, ok)
		}
	}
}

// TestHelpOfEveryCommand: each has a page with its usage, every
// flag with a word about it, and where the rest stands.
func TestHelpOfEveryCommand(t *testing.T) {
	p, err := newParser(&root{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range p.Model.Children {
		var out strings.Builder
		e := role.Env{Args: []string{n.Name, "--help"}, Stdout: &out, Lookup: func(string) (string, bool) { return "", false }}
		if err := Run(context.Background(), e); err != nil {
			t.Errorf("%s: %v", n.Name, err)
		}
		for _, want := range []string{"Usage: sett " + n.Name, "Flags of every command and exit codes: sett --help\n"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("help of %s has no %q", n.Name, want)
			}
		}
		for _, f := range n.Flags {
			if f.Help == "" || !strings.Contains(out.String(), "--"+f.Name) {
				t.Errorf("help of %s says nothing about --%s", n.Name, f.Name)
			}
		}
		if n.Help == "" || n.Group == nil {
			t.Errorf("%s has no place on the first page", n.Name)
		}
	}
}

func TestOfWorkspace(t *testing.T) {
	in := func(name, ws string) *instance.Instance {
		return &instance.Instance{State: instance.State{Name: name, Workspace: ws}}
	}
	all := []*instance.Instance{in("other", "/w/proj"), in("proj", "/w/proj"), in("solo", "/w/solo"), in("a", "/w/two"), in("b", "/w/two")}
	for ws, want := range map[string]string{"/w/proj": "proj", "/w/solo": "solo", "/w/none": ""} {
		got, err := instance.OfWorkspace(all, ws)
		if err != nil || (got == nil) != (want == "") || got != nil && got.Name != want {
			t.Errorf("%s: %v, %v; want %q", ws, got, err, want)
		}
	}
	if _, err := instance.OfWorkspace(all, "/w/two"); err == nil {
		t.Error("several instances, none of the workspace's name: want an error")
	}
}

// TestEmptyNames: what names a record or an instance is never an empty word, which a script's variable
// without a value leaves; free text may be one, and so may what completion asks about.
func TestEmptyNames(t *testing.T) {
	for line, refused := range map[string]string{
		`answer|`: "the answer", `answer||blue`: "<question>", `approve|X|`: "<id>", `reject||because`: "<id>", `show|`: "<id>", `land|`: "<id>",
		`wait|`: "<goal>", `list|`: "<instance>", `logs|`: "<agent>", `down|--name||--purge`: "--name", `--name=|list`: "--name",
		`land|--onto|`: "--onto", `forage|x|--base=`: "--base", `up|--redis-url|`: "--redis-url", `watch|--workflow|`: "--workflow", `hoard|--type=`: "--type",
		`forage|--goal|`: "", `try|x|--payload|`: "", `review|X|--feedback=`: "", `goals|--status|`: "", `forage|`: "", `retry|X|`: "", `cancel|X||`: "", `__complete|bash|`: "", `list|--name|x`: "",
	} {
		_, _, err := parse(strings.Split(line, "|"))
		if got := refused + " is empty"; (err == nil) != (refused == "") || err != nil && err.Error() != got {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// TestBelowZero: no flag takes a number or a duration below zero, in any way of typing it; the
// error has one line, and says so.
func TestBelowZero(t *testing.T) {
	parser, err := newParser(&root{})
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, leaf := range parser.Model.Leaves(false) {
		line := strings.Fields(leaf.Path())
		for _, p := range leaf.Positional {
			if p.Required {
				line = append(line, "x")
			}
		}
		for _, f := range leaf.Flags {
			kind, value := f.Target.Type(), "-5"
			if kind.Kind() == reflect.Pointer {
				kind = kind.Elem()
			}
			if kind == reflect.TypeFor[time.Duration]() {
				value = "-5s"
			} else if kind.Kind() != reflect.Int {
				continue
			}
			ways := [][]string{{"--" + f.Name, value}, {"--" + f.Name + "=" + value}}
			if f.Short != 0 {
				ways = append(ways, []string{"-" + string(f.Short), value}, []string{"-" + string(f.Short) + value})
			}
			for _, way := range ways {
				tried++
				_, _, err := parse(slices.Concat(line, way))
				if want := "--" + f.Name + ": " + value + " is negative"; err == nil || err.Error() != want || role.CodeOf(err) != role.Usage {
					t.Errorf("%q: %v; want %s", slices.Concat(line, way), err, want)
				}
			}
		}
	}
	if tried < 25 {
		t.Errorf("only %d were tried", tried)
	}
	for _, line := range []string{"goals --limit x", "goals --limit --status", "wait --timeout -x", "wait --timeout -5"} {
		if _, _, err := parse(strings.Fields(line)); role.CodeOf(err) != role.Usage {
			t.Errorf("%s: %v", line, err)
		}
	}
	if r, _, err := parse([]string{"logs"}); err != nil || r.Logs.Lines != -1 { // a default of ours
		t.Errorf("%v", err)
	}
}

package deploy

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sett/contract/config"
	"sett/roles/cli/pin"
)

// pinnedIn takes what a sett.yml pins of a tree with these files, and notes it in the
// configuration.
func pinnedIn(t *testing.T, yml string, files ...string) (*config.Config, pin.Taken, Pinning) {
	t.Helper()
	root := t.TempDir()
	for _, name := range append(files, "clan/sett.yml") {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	c, err := config.Parse("sett.yml", []byte(yml))
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Agents {
		c.Agents[i].Resolved = &config.Resolved{Image: "i"}
	}
	if c.Notify != nil {
		c.Notify.Resolved = &config.Resolved{Image: "i"}
	}
	p := NewPinning(c, root, filepath.Join(root, "clan/sett.yml"))
	taken, err := p.source.Take(p.wants(), "")
	if err != nil {
		t.Fatal(err)
	}
	p.resolve(taken, nil, pin.Store{})
	return c, taken, p
}

func paths(s pin.Set) []string {
	var all []string
	for _, f := range s {
		all = append(all, f.Path)
	}
	return all
}

// TestPinning: what a configuration pins, and which agents use it.
func TestPinning(t *testing.T) {
	const yml = `
agents:
  reviewer: {image: i, command: [clan/review.sh, data/x]}
  inside: {image: i, command: [python3, /workspace/tools/y.py], bid_script: [./bids]}
  foreign: {image: i, command: [/app/run.sh, clan/review.sh]}
  speaks: {image: i, command: [sh, -c, '. "$SETT_PIN/clan/lib.sh"']}
  absent: {image: i, command: [gone/x.sh]}
notify: {command: [env, A=b, sh, tell.sh]}
`
	c, taken, p := pinnedIn(t, yml, "clan/review.sh", "clan/lib.sh", "data/x", "tools/y.py", "bids", "tell.sh", "other")
	if got, want := paths(taken.Set), []string{"bids", "clan/lib.sh", "clan/review.sh", "tell.sh", "tools/y.py"}; !slices.Equal(got, want) {
		t.Errorf("pinned %v, want %v", got, want)
	}
	programs := map[string]map[string]string{
		"reviewer": {"clan/review.sh": "clan/review.sh"}, "inside": {"/workspace/tools/y.py": "tools/y.py", "./bids": "bids"},
		"foreign": nil, "speaks": nil, "absent": nil,
	}
	for name, want := range programs {
		a, _ := c.Agent(name)
		uses := want != nil || name == "speaks"
		if !maps.Equal(a.Resolved.Programs, want) || (a.Resolved.Pin != "") != uses || uses && a.Resolved.Pin != taken.Set.Digest() {
			t.Errorf("%s: %+v", name, a.Resolved)
		}
	}
	if r := c.Notify.Resolved; r.Pin != taken.Set.Digest() || r.Programs["tell.sh"] != "tell.sh" {
		t.Errorf("notify: %+v", r)
	}
	if len(taken.Missing) != 1 || taken.Missing[0] != (pin.Want{Path: "gone/x.sh", Program: true, By: "agents.absent.command"}) {
		t.Errorf("missing %v", taken.Missing)
	}
	if got := p.unpinned(); len(got) != 1 || !strings.HasPrefix(got[0], "warning: agent foreign: clan/review.sh runs files") {
		t.Errorf("unpinned %q", got)
	}

	// With a key pin every agent may use the files.
	c, taken, _ = pinnedIn(t, yml+"pin: [data, clan]\n", "clan/review.sh", "data/x", "tools/y.py", "bids", "tell.sh")
	if got := paths(taken.Set); !slices.Contains(got, "data/x") || slices.Contains(got, "clan/sett.yml") {
		t.Errorf("pinned %v", got)
	}
	for _, a := range c.Agents {
		if a.Resolved.Pin != taken.Set.Digest() {
			t.Errorf("%s uses none", a.Name)
		}
	}
	if _, taken, _ := pinnedIn(t, "agents: {a: {image: i, command: [/app/run]}}\n"); taken.Set != nil {
		t.Errorf("pinned %v", taken.Set)
	}
}

// TestPlanPinned: the plan names changed files, and says once what is not pinned.
func TestPlanPinned(t *testing.T) {
	const yml = "runtime: process\nagents: {one: {command: [clan/x]}}\n"
	one, two := pin.Set{{Path: "clan/x", SHA256: "1"}}, pin.Set{{Path: "clan/x", SHA256: "2"}, {Path: "clan/y", SHA256: "1"}}
	with := func(f *facts, set pin.Set) *facts {
		f.pins.before, f.pins.taken = one, pin.Taken{Set: set}
		f.pins.unpinned = []string{"warning: agent one: make runs files"}
		return f
	}
	resolved := func(c *config.Config, set pin.Set) {
		c.Agents[0].Resolved = &config.Resolved{Sett: thisSett, Pin: set.Digest(), Programs: map[string]string{"clan/x": "clan/x"}}
	}

	f := with(planned(t, yml).running(t, yml), two)
	resolved(f.before, one)
	resolved(f.desired, two)
	p := newPlan(f)
	if want := []pin.Change{{Path: "clan/x", Change: pin.Changed}, {Path: "clan/y", Change: pin.Added}}; !slices.Equal(p.Changes.Pinned, want) {
		t.Errorf("changes %v", p.Changes)
	}
	if !slices.Equal(p.onlyPin, []string{"one"}) || p.part("agent-one").Action != partRestart || p.Idle() {
		t.Errorf("restarts %v: %+v", p.onlyPin, p.Parts)
	}
	if len(p.atOnce) != 0 || !slices.Contains(p.atEnd, f.pins.unpinned[0]) || !p.tells {
		t.Errorf("says %q, %q", p.atOnce, p.atEnd)
	}

	// What was said is not said again; an instance that starts says what changed.
	f = with(planned(t, yml).stopped(), two)
	f.state.Unpinned = f.pins.unpinned
	resolved(f.desired, two)
	p = newPlan(f)
	if slices.Contains(p.atEnd, f.pins.unpinned[0]) || !slices.Contains(p.atOnce, "pinned files since the last sett up: clan/x changed, clan/y added") {
		t.Errorf("says %q, %q", p.atOnce, p.atEnd)
	}
	f = with(planned(t, yml), two)
	if f.pins.before = nil; len(newPlan(f).Changes.Pinned) != 0 {
		t.Error("the first up names changed files")
	}
	f.pins.taken.Skipped = strings.Fields("1 2 3 4 5 6 7")
	if p := newPlan(f); !slices.Contains(p.atOnce, "warning: not pinned: 2 files more") || len(p.atOnce) != mostNamed+1 {
		t.Errorf("says %q", p.atOnce)
	}
	many := make([]pin.Change, 7)
	if got := ChangedFiles(many); !strings.HasSuffix(got, ", and 2 more") {
		t.Errorf("says %q", got)
	}
}

// TestPinningStays: a unit goes on with its set where nothing that it may use differs.
func TestPinningStays(t *testing.T) {
	const yml = "pin: [data]\nagents: {a: {image: i, command: [a/run]}, b: {image: i, command: [b/run]}, sh: {image: i, command: [sh, -c, '. $SETT_PIN/x']}}\n" +
		"notify: {command: [tell]}\n"
	files := []string{"a/run", "a/lib", "b/run", "data/x", "tell"}
	for _, c := range []struct {
		name    string
		change  func(root string) error
		changed string // the units that get the new set
	}{
		{"nothing", func(string) error { return nil }, ""},
		{"a file beside b", func(root string) error { return os.WriteFile(filepath.Join(root, "b/new"), nil, 0o600) }, "b sh"},
		{"a file beside b less", func(root string) error { return os.Remove(filepath.Join(root, "b/run")) }, "b sh"},
		{"another content", func(root string) error { return os.WriteFile(filepath.Join(root, "b/run"), []byte("2"), 0o600) }, "a b sh notify"},
		{"another file of pin", func(root string) error { return os.WriteFile(filepath.Join(root, "data/y"), nil, 0o600) }, "a b sh notify"},
		{"the only file of pin less", func(root string) error { return os.Remove(filepath.Join(root, "data/x")) }, "a b sh notify"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, _, p := pinnedIn(t, yml, files...)
			store := pin.Store{Dir: filepath.Join(t.TempDir(), "pins")}
			t.Cleanup(func() { _ = store.Keep() })
			old, err := store.Put(p.source, p.wants())
			if err == nil {
				err = c.change(p.source.Root)
			}
			if err != nil {
				t.Fatal(err)
			}
			after, _, _ := pinnedIn(t, yml, files...)
			p.config = after
			now, err := p.source.Take(p.wants(), "")
			if err != nil {
				t.Fatal(err)
			}
			p.resolve(now, before, store)
			var changed []string
			for _, a := range after.Agents {
				was, _ := before.Agent(a.Name)
				if a.Resolved.Pin != was.Resolved.Pin {
					changed = append(changed, a.Name)
				}
				if a.Resolved.Pin != old.Set.Digest() && a.Resolved.Pin != now.Set.Digest() {
					t.Errorf("%s uses %q", a.Name, a.Resolved.Pin)
				}
			}
			if after.Notify.Resolved.Pin != before.Notify.Resolved.Pin {
				changed = append(changed, "notify")
			}
			if got := strings.Join(changed, " "); got != c.changed {
				t.Errorf("changed %q, want %q", got, c.changed)
			}
			// Without the old set nobody stays.
			_ = store.Keep()
			if p.resolve(now, before, store); after.Agents[0].Resolved.Pin != now.Set.Digest() {
				t.Error("a uses a set that is gone")
			}
		})
	}
}

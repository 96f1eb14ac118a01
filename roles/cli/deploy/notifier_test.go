package deploy

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/runtime"
)

func notifying(command string) *config.Config {
	return &config.Config{Runtime: config.RuntimeProcess, Notify: &config.Notify{Command: []string{command}}}
}

// A command that cannot be run is warned of at the start.
func TestNotifierThatCannotRun(t *testing.T) {
	missing := MissingTools(notifying("./nowhere"), t.TempDir())
	if len(missing) != 1 || !strings.Contains(missing[0].Text, "notify: ./nowhere cannot be run: ") || !strings.Contains(missing[0].Text, "no such file") {
		t.Errorf("missing %q", missing)
	}
	if missing := MissingTools(notifying("sh"), t.TempDir()); len(missing) != 0 {
		t.Errorf("missing %q", missing)
	}
}

// A bid script that cannot be run fails no goal: the agent bids ignore, or its claims wait.
func TestBidScriptThatCannotRun(t *testing.T) {
	for required, want := range map[bool]string{false: "it bids ignore on every claim", true: "every claim will wait for its bid"} {
		c := &config.Config{Runtime: config.RuntimeProcess, Agents: []config.Agent{{Name: "one", Command: []string{"sh"}, BidScript: []string{"./nowhere"}, BidsRequired: required}}}
		if missing := MissingTools(c, t.TempDir()); len(missing) != 1 || !strings.HasSuffix(missing[0].Text, "; "+want) {
			t.Errorf("required %v: %q", required, missing)
		}
	}
}

// It is stopped with the agents: before the orchestrator, which would start it
// again, unless that is stopped first for want of a word to it.
func TestNotifierIsStoppedWithAgents(t *testing.T) {
	for _, told := range []bool{true, false} {
		for _, components := range stopOrder(told) {
			if slices.Contains(components, runtime.ComponentNotifier) != slices.Contains(components, runtime.ComponentAgent) {
				t.Errorf("told %v: %v", told, components)
			}
		}
	}
}

// A command that the notifier itself cannot run, as one that its image lacks, is warned of,
// unless up has seen it before. The notifier counts as started.
func TestNotifierIsUnfit(t *testing.T) {
	for name, c := range map[string]struct {
		runtime string
		unfit   map[string]bool
		says    string
		want    string
	}{
		"image": {config.RuntimeDocker, nil, "curl cannot be run: not in $PATH", `(?s)^sett: warning: notify in alpine: curl cannot be run: not in \$PATH; nobody will be notified.*\n *notifier +unfit .*see above\n$`},
		"local": {config.RuntimeProcess, map[string]bool{"": true}, "curl cannot be run: not in $PATH", `^ *notifier +unfit .*\n$`},
		"fit":   {config.RuntimeDocker, nil, "", `^ *notifier +ready .*\n$`},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			on := term.New(role.Env{Stdout: &out, Stderr: &out, Now: time.Now, Lookup: func(string) (string, bool) { return "", false }})
			cfg := notifying("curl")
			cfg.Runtime, cfg.Notify.Image = c.runtime, "alpine"
			w := &waiting{j: &job{at: instance.New(&on, instance.Flags{}), c: cfg, unfit: c.unfit}, extras: map[string]bool{}}
			heard := false
			part := extra{runtime.ComponentNotifier, "digest", func(context.Context, runtime.Unit) (bool, string) { return heard, c.says }}
			look := func() bool {
				return w.lookForExtra(t.Context(), part, map[string]runtime.Unit{part.name: {Labels: runtime.Labels{runtime.LabelConfig: "digest"}}})
			}
			if look() || out.Len() > 0 {
				t.Errorf("it counts as started before it is heard of: %s", &out)
			}
			heard = true
			first, again := look(), look()
			if !first || !again || !regexp.MustCompile(c.want).MatchString(out.String()) {
				t.Errorf("up says\n%s", &out)
			}
		})
	}
}

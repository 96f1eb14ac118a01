package config

import (
	"slices"
	"strings"
	"testing"
)

// The paths of a workspace are plain, in the repository, and each in one list.
func TestWorkspacePaths(t *testing.T) {
	clan := func(workspace string) string {
		return "agents: {writer: {image: w, command: [./run], workspace: " + workspace + ", bids: {GoalDefined: exclusive}}}\n"
	}
	c, err := Parse("sett.yml", []byte(clan("{mode: rw, keep: [./target/, web//node_modules], copy: [.env.test], sparse: [lib]}")))
	if err != nil {
		t.Fatal(err)
	}
	w := c.Agents[0].Workspace
	if !slices.Equal(w.Keep, []string{"target", "web/node_modules"}) || !slices.Equal(w.Copy, []string{".env.test"}) || !slices.Equal(w.Sparse, []string{"lib"}) {
		t.Errorf("%+v", w)
	}
	if rights := c.Rights("."); len(rights) != 1 || rights[0].Key != "agents.writer.workspace.copy" || !strings.Contains(rights[0].Text, ".env.test") {
		t.Errorf("rights: %v", rights)
	}
	for workspace, want := range map[string]string{
		"{mode: rw, keep: [../x]}":                         "leads out of the repository",
		"{mode: rw, keep: [/etc]}":                         "no path in the repository",
		"{mode: rw, keep: [a/../..]}":                      "leads out of the repository",
		"{mode: rw, keep: [.]}":                            "the whole repository",
		"{mode: rw, keep: ['']}":                           "an empty path",
		"{mode: rw, keep: [.git]}":                         "git's own",
		"{mode: rw, copy: [sub/.GIT/config]}":              "git's own",
		"{mode: rw, keep: ['*.log']}":                      "no plain path",
		"{mode: rw, sparse: ['!lib']}":                     "no plain path",
		"{mode: rw, sparse: ['a:b']}":                      "no plain path",
		"{mode: rw, copy: [\"a\\nb\"]}":                    "no plain path",
		"{mode: rw, keep: [a, a]}":                         "twice",
		"{mode: rw, keep: [a], copy: [a/b]}":               "the same place",
		"{mode: rw, keep: [a/b], copy: [a]}":               "the same place",
		"{mode: ro, keep: [a]}":                            "nothing to keep",
		"{mode: none, copy: [a]}":                          "it has none",
		"{mode: rw, keep: " + strings.Repeat("x", 9) + "}": "must be a list",
	} {
		if _, err := Parse("sett.yml", []byte(clan(workspace))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", workspace, err, want)
		}
	}
}

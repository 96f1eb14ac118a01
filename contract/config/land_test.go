package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// land is checked where it stands: its branch, its way, and that anything can land.
func TestLand(t *testing.T) {
	const clan = "agents: {writer: {image: w, command: [./run], workspace: {mode: rw}, bids: {GoalDefined: exclusive}}}\n"
	c, err := Parse("sett.yml", []byte(clan+"land: {onto: release/1}\n"))
	if err != nil || *c.Land != (Land{Onto: "release/1", How: LandRebase, When: LandAchieved}) || c.Land.Branch() != "release/1" {
		t.Fatalf("%+v %v", c, err)
	}
	if without, err := Parse("sett.yml", []byte(clan)); err != nil || without.Land.Branch() != "" || without.RepositoryDigest() == c.RepositoryDigest() {
		t.Errorf("without land: %v", err)
	}
	for name, wrong := range map[string]struct{ src, want string }{
		"no branch":   {"land: {how: merge}", "land has no onto"},
		"empty":       {"land: {onto: ''}", "land.onto is empty"},
		"an option":   {"land: {onto: --force}", "not the name of a branch"},
		"a ref":       {"land: {onto: refs/heads/main}", "not the name of a branch"},
		"HEAD":        {"land: {onto: HEAD}", "not the name of a branch"},
		"dots":        {"land: {onto: a..b}", "not the name of a branch"},
		"a lock":      {"land: {onto: main.lock}", "not the name of a branch"},
		"a space":     {"land: {onto: a b}", "not the name of a branch"},
		"another way": {"land: {onto: main, how: rebas}", `did you mean "rebase"?`},
		"when":        {"land: {onto: main, when: never}", "unknown value"},
		"verify":      {"land: {onto: main, verify: 1}", "land.verify"},
		"unknown":     {"land: {onto: main, branch: x}", "branch"},
	} {
		if _, err := Parse("sett.yml", []byte(clan+wrong.src+"\n")); err == nil || !strings.Contains(err.Error(), wrong.want) {
			t.Errorf("%s: %v, want %q", name, err, wrong.want)
		}
	}
	const none = "agents: {writer: {image: w, command: [./run], workspace: {mode: none}, bids: {GoalDefined: exclusive}}}\n"
	if _, err := Parse("sett.yml", []byte(none+"land: {onto: main}\n")); err == nil || !strings.Contains(err.Error(), "land: no agent has a workspace") {
		t.Errorf("without a tree: %v", err)
	}
}

// With verify the clan may bid on Landing, and a person may hold it.
func TestFlowOfLandings(t *testing.T) {
	const clan = "agents:\n  writer: {image: w, command: [./run], workspace: {mode: rw}, adapter: commit, terminal: true, makes: CodeCommit, bids: {GoalDefined: exclusive}}\n" +
		"  vet: {image: w, command: [./vet], adapter: check, bids: {Landing: review}}\napprove: [Landing]\n"
	_, err := Parse("sett.yml", []byte(clan+"land: {onto: main, verify: true}\n"))
	if err != nil {
		t.Errorf("with verify: %v", err)
	}
	if c, err := Parse("sett.yml", []byte(clan+"land: {onto: main}\n")); err != nil || !c.Verifies() {
		t.Errorf("with a gate alone: %v", err)
	}
	if _, err := Parse("sett.yml", []byte(strings.TrimSuffix(clan, "approve: [Landing]\n")+"land: {onto: main}\n")); err == nil ||
		!strings.Contains(err.Error(), `no agent makes "Landing"`) || !strings.Contains(err.Error(), "hint: land: {verify: true} has Sett make it") {
		t.Errorf("without verify: %v", err)
	}
}

// An agent may bid on Conflict, and a person may hold it, though no agent makes it.
func TestFlowOfConflicts(t *testing.T) {
	clan := "version: \"1.0\"\nagents:\n  code: {image: w, command: [./c], adapter: commit, workspace: {mode: rw}, terminal: true, bids: {GoalDefined: exclusive}}\n" +
		"  merger: {image: w, command: [./m], adapter: commit, makes: Merged, workspace: {mode: rw}, bids: {Conflict: exclusive}}\napprove: [Conflict]\n"
	var warnings []Warning
	c, err := Parse("sett.yml", []byte(clan), NoteWarnings(&warnings))
	if err != nil {
		t.Fatal(err)
	}
	f := c.Flow()
	k := f.index["Conflict"]
	if k == nil || !k.Settles || !k.Reached || !k.Gate || !slices.Equal(k.Exclusive, []string{"merger"}) {
		t.Errorf("the plan has %+v", k)
	}
	for _, w := range warnings {
		if text := fmt.Sprint(w); strings.Contains(text, "Conflict") || strings.Contains(text, "Merged") { // its maker settles: work goes on with it
			t.Errorf("warning: %s", text)
		}
	}
	if _, err := Parse("sett.yml", []byte(strings.ReplaceAll(clan, "Conflict", "Konflict"))); err == nil {
		t.Error("a misspelt one passes")
	}
}

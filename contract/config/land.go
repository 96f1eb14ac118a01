package config

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"sett/blackboard"
)

// The ways of a result to the branch, where that has moved on.
const (
	LandFF     = "ff" // it does not land
	LandRebase = "rebase"
	LandMerge  = "merge"
	LandSquash = "squash"
)

// LandAchieved lands a goal's result once the goal has its Terminal.
const LandAchieved = "achieved"

// Land says how results reach a branch by themselves.
type Land struct {
	Onto   string `json:"onto"`   // the branch, checked out nowhere
	How    string `json:"how"`    // ff, rebase, merge or squash
	When   string `json:"when"`   // achieved
	Verify bool   `json:"verify"` // agents see the commit that the branch would have first
}

func defaultLand() Land { return Land{How: LandRebase, When: LandAchieved} }

// Branch is the branch that goals land on; empty: on none.
func (l *Land) Branch() string {
	if l == nil {
		return ""
	}
	return l.Onto
}

// Verifies says whether the commit that a branch would have is an artefact Landing first:
// agents look at it, or a person has the last word.
func (c *Config) Verifies() bool {
	return c.Land != nil && (c.Land.Verify || slices.Contains(c.Approve, blackboard.TypeLanding))
}

// Supersedes says whether work on the target is wanted no more: it is a Landing, and none is verified any more.
func (c *Config) Supersedes(t blackboard.Target) bool { return t.OfLanding() && !c.Verifies() }

// gates says whether artefacts of a type wait for a person's approval.
func (c *Config) gates(artefactType string) bool {
	return slices.ContainsFunc(c.Approve, func(pattern string) bool { return blackboard.Match(pattern, artefactType) })
}

func (d *decoder) landFields(l *Land) []field {
	return []field{
		{"onto", "The branch, which must be checked out nowhere.", d.read.text(&l.Onto, branchName)},
		{"how", "Where the branch has moved on: ff does not land, rebase applies the commits anew, merge makes a merge commit, squash one commit of all.",
			oneOf(d.read, &l.How, LandFF, LandRebase, LandMerge, LandSquash)},
		{"when", "achieved: once the goal has its final result.", oneOf(d.read, &l.When, LandAchieved)},
		{"verify", "The commit that the branch would have is first an artefact Landing, which agents review like any other. So it is, too, where approve has Landing.", d.read.flag(&l.Verify)},
	}
}

// checkLand looks whether anything can land.
func (d *decoder) checkLand(c *Config, keys map[string]*node) {
	if c.Land != nil && keys["land"] != nil && !c.HasTrees() && len(d.problems) == 0 {
		d.add(keys["land"].at, "give an agent that commits workspace: {mode: rw}, or leave land out", "land: no agent has a workspace, so nothing can land")
	}
}

// branchForm is the form of a branch's name, as far as a pattern says it. Git says the rest.
var branchForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^-/.\s~^:?*\[\\][^\s~^:?*\[\\]*$`) })

var branchName = check{
	fault: func(s string) (string, string) {
		bad := !branchForm().MatchString(s) || len(s) > 200 || strings.HasSuffix(s, "/") || strings.HasSuffix(s, ".") || strings.HasSuffix(s, ".lock") ||
			strings.HasPrefix(s, "refs/heads/") || s == "HEAD"
		for _, part := range []string{"..", "//", "@{", "/.", ".lock/"} {
			bad = bad || strings.Contains(s, part)
		}
		if bad {
			return "not the name of a branch: " + quote(s), "as git branch shows it, such as main"
		}
		return "", ""
	},
	shape: func(s *schema) { s.Pattern, s.MaxLength = branchForm().String(), 200 },
}

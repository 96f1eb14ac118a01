package env_test

import (
	"slices"
	"strings"
	"testing"

	"sett/contract/env"
)

func TestToolEnviron(t *testing.T) {
	cub := []string{
		"PATH=/bin", "REDIS_URL=redis://:secret@host:6379/0", "SETT_BLACKBOARD_PASSWORD=secret", "SETT_AGENTS_REDIS_URL=redis://:secret@host:6379/0", "SETT_AGENT_NAME=writer",
		"SETT_CLAIM_ID=of-another-claim", "SETT_TARGET_PAYLOAD=of another target", "EMPTY=", "ODD",
	}
	before := slices.Clone(cub)
	got := env.ToolEnviron(cub, env.ToolVars{
		ClaimID: "C", ClaimType: "review", TargetID: "T", TargetType: "GoalDefined", TargetPayload: "say hello\n",
		TargetVersion: 2, Attempt: 1, GoalID: "G", Goal: "greet", Slot: 3, Slots: 8,
	})
	want := []string{
		"PATH=/bin", "SETT_AGENT_NAME=writer", "EMPTY=", "ODD",
		"SETT_CLAIM_ID=C", "SETT_ATTEMPT=1", "SETT_CLAIM_TYPE=review", "SETT_TARGET_ID=T", "SETT_TARGET_TYPE=GoalDefined",
		"SETT_TARGET_VERSION=2", "SETT_TARGET_PAYLOAD=say hello\n", "SETT_GOAL_ID=G", "SETT_GOAL=greet", "SETT_SLOT=3", "SETT_SLOTS=8",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	if !slices.Equal(cub, before) {
		t.Errorf("the cub's environment became %q", cub)
	}
}

func TestToolEnvironPayload(t *testing.T) {
	for name, tc := range map[string]struct {
		payload string
		there   bool
	}{
		"empty":      {"", true},
		"longest":    {strings.Repeat("x", env.MaxPayload), true},
		"too long":   {strings.Repeat("x", env.MaxPayload+1), false},
		"binary":     {"a\x00b", false},
		"not UTF-8":  {"\xff", true},
		"many lines": {"a\nb\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			got := env.ToolEnviron(nil, env.ToolVars{TargetPayload: tc.payload})
			there := slices.Contains(got, env.TargetPayload+"="+tc.payload)
			unset := !slices.ContainsFunc(got, func(v string) bool { return strings.HasPrefix(v, env.TargetPayload+"=") })
			if there != tc.there || unset == tc.there {
				t.Errorf("got %.60q", got)
			}
		})
	}
}

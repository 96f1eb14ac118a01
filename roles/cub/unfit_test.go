package cub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
)

// TestUnfit: an agent says that its program cannot be run where it is, and that it can once
// that is mended.
func TestUnfit(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	program := filepath.Join(t.TempDir(), "run.sh")
	must(t, os.WriteFile(program, []byte("#!/opt/none/python9\n"), 0o755))
	presence := func(agent string) blackboard.Presence {
		all, err := c.board.Roster.Agents(c.ctx)
		must(t, err)
		return all[agent]
	}
	for agent, command := range map[string]string{"script": `["` + program + `"]`, "none": `["no-such-program-9"]`, "tree": `["tools/later.sh"]`, "sound": `["sh", "-c", "exit 0"]`} {
		c.start(agent, vars{env.Command: command})
		until(t, agent+" is there", func() bool { return presence(agent).Incarnation != "" })
	}
	for agent, want := range map[string]string{"script": "its interpreter /opt/none/python9 is not here", "none": "no-such-program-9 cannot be run", "tree": "", "sound": ""} {
		if p := presence(agent); p.Unfit != (want != "") || !strings.Contains(p.Trouble, want) || want == "" && p.Trouble != "" {
			t.Errorf("%s: %+v", agent, p)
		}
	}
	c.start("bids", vars{env.Command: shell("exit 0"), env.BidScript: `["no-such-program-9"]`})
	until(t, "the one that cannot bid has trouble, and is fit", func() bool {
		p := presence("bids")
		return !p.Unfit && strings.HasPrefix(p.Trouble, "no-such-program-9 cannot be run: ")
	})
	c.start("lacks", vars{env.Command: shell("exit 0"), env.Lacks: "tools/later.sh"})
	until(t, "the one with a program that the repository has not is unfit", func() bool {
		p := presence("lacks")
		return p.Unfit && p.Trouble == "tools/later.sh cannot be run: the repository has no such file"
	})
	c.await(c.work("lacks", blackboard.PhaseExclusive, "x"), "lacks", blackboard.GrantFailed) // it says nothing, but it ran
	until(t, "it is fit when its program was there after all", func() bool { p := presence("lacks"); return !p.Unfit && p.Trouble == "" })
	must(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755))
	until(t, "the mended one is fit", func() bool { p := presence("script"); return !p.Unfit && p.Trouble == "" })
}

package toolrun

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"sett/blackboard"
)

// The counter stands in a file here that the tool itself writes, since a limit of
// memory takes a container: what the kernel does is the same.
func TestOutOfMemory(t *testing.T) {
	const count = `echo oom_kill 4 >events; `
	for _, c := range []struct {
		name, body string
		noNetwork  bool
		elsewhere  bool // not in process 1 of a container
		want       bool
		kill       blackboard.MemoryKill
	}{
		{name: "killed", body: count + `kill -KILL $$`, want: true, kill: blackboard.KilledOfTool},
		{name: "killed, without network", body: count + `kill -KILL $$`, noNetwork: true, want: true, kill: blackboard.KilledOfTool},
		{name: "killed in local mode", body: count + `kill -KILL $$`, elsewhere: true, kill: blackboard.KilledBeside},
		{name: "a child killed", body: count + `sh -c 'kill -KILL $$'`, want: true, kill: blackboard.KilledOfTool},
		{name: "killed by somebody", body: `kill -KILL $$`},
		{name: "another signal", body: count + `kill -TERM $$`, kill: blackboard.KilledOfTool},
		{name: "failed", body: count + `exit 1`, kill: blackboard.KilledOfTool},
		{name: "failed in local mode", body: count + `exit 1`, elsewhere: true, kill: blackboard.KilledBeside},
		{name: "well", body: count, kill: blackboard.KilledOfTool},
		{name: "killed by us", body: count + `trap '' TERM; while :; do sleep 0.05; done`, kill: blackboard.KilledOfTool},
		{name: "unreadable at the end", body: `rm events; kill -KILL $$`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "events")
			if err := os.WriteFile(file, []byte("oom 7\noom_kill 3\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := sh(c.body)
			cmd.Dir, cmd.NoNetwork = dir, c.noNetwork
			if c.name == "killed by us" {
				cmd.Timeout, cmd.Grace = 500*time.Millisecond, time.Millisecond
			}
			p := New()
			p.memory.once.Do(func() { p.memory.file = file })
			p.crowd.owned = !c.elsewhere
			res, err := p.Run(t.Context(), cmd)
			if err != nil || res.OutOfMemory != c.want || res.MemoryKill != c.kill {
				t.Errorf("out of memory %t, want %t: %+v, %v", res.OutOfMemory, c.want, res, err)
			}
		})
	}
}

// TestOutOfMemoryBeside: the counter of a container is that of all its runs. A run beside
// which another went on, at any moment, does not know whose process was killed.
func TestOutOfMemoryBeside(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "events")
	if err := os.WriteFile(file, []byte("oom_kill 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := New()
	p.memory.once.Do(func() { p.memory.file = file })
	p.crowd.owned = true
	run := func(body string) Result {
		cmd := sh(body)
		cmd.Dir = dir
		res, err := p.Run(t.Context(), cmd)
		if err != nil {
			t.Error(err)
		}
		return res
	}
	const waits = `until [ -e go ]; do sleep 0.02; done; `
	ended := make(chan Result)
	for _, body := range []string{`touch one; ` + waits + `exit 137`, `touch two; ` + waits + `kill -KILL $$`} {
		go func() { ended <- run(body) }()
	}
	res := run(`until [ -e one ] && [ -e two ]; do sleep 0.02; done; echo oom_kill 4 >events; touch go; exit 1`)
	for _, res := range []Result{res, <-ended, <-ended} {
		if res.OutOfMemory || res.MemoryKill != blackboard.KilledBeside {
			t.Errorf("of several: %+v", res)
		}
	}
	if res := run(`exit 1`); res.MemoryKill != "" {
		t.Errorf("after the kill: %+v", res)
	}
	if res := run(`echo oom_kill 5 >events; exit 137`); !res.OutOfMemory {
		t.Errorf("alone again: %+v", res)
	}
}

func TestReadKills(t *testing.T) {
	for content, want := range map[string]uint64{
		"low 0\noom 2\noom_kill 17\noom_group_kill 1\n": 17, // version 2
		"oom_kill_disable 0\nunder_oom 0\noom_kill 3\n": 3,  // version 1
		"oom_kill_disable 0\nunder_oom 0\n":             0,  // before Linux 4.13
		"oom_kill many\n":                               0,
		"":                                              0,
	} {
		n, ok := readKills(write(t, "events", content, 0o600))
		if n != want || ok != (want > 0) {
			t.Errorf("%q: got %d, %t", content, n, ok)
		}
	}
	if _, ok := readKills(filepath.Join(t.TempDir(), "none")); ok {
		t.Error("a file that is not there was read")
	}
}

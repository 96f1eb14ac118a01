package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
)

// losing has an instance lose its ledger as well. Its clan makes no commits: nobody would
// put a tree back whose writer only the lost ledger knew.
func losing(begin func(testing.TB, clan) *chaos) func(testing.TB, clan) *chaos {
	return func(t testing.TB, _ clan) *chaos {
		c := begin(t, reviewed(drafter, "retries: 1000\n"))
		c.loses = true
		return c
	}
}

// data is the directory of a blackboard, and how the blackboard is stopped and started.
type data struct {
	dir  func() string
	down func()
	up   func()
}

// redisData is that of a redis-server.
func redisData(t testing.TB, s *redistest.Server) data {
	return data{
		dir:  func() string { return filepath.Join(s.Dir, "appendonlydir") },
		down: s.Kill,
		up: func() {
			s.Restart()
			if len(call(t, s, "KEYS", "other")) == 0 {
				keysOfOthers(t, s)
			}
		},
	}
}

// localData is that of local mode's own blackboard. Its keeper stands still while it is
// down.
func localData(c *chaos) data {
	return data{
		dir: func() string { return filepath.Join(c.stateDir(), "blackboard") },
		down: func() {
			c.guard.wait(c.instance)
			c.signal("keeper", syscall.SIGSTOP)
			c.shootIfRunning("blackboard")
			eventually(c.t, enough, "end of the blackboard", func() bool { _, runs := c.running("blackboard"); return !runs })
		},
		up: func() {
			c.signal("keeper", syscall.SIGCONT)
			c.answered()
		},
	}
}

// answered waits until the blackboard answers: its keeper takes its time after many ends.
func (c *chaos) answered() {
	c.t.Helper()
	eventually(c.t, enough, "an answer of the blackboard", func() bool {
		_, err := c.board.ServerTime(context.Background())
		return err == nil
	})
}

// loss is a way in which a blackboard loses what it acknowledged.
type loss struct {
	name string
	says string
	lose func(c *chaos) (kept string) // a copy of the data as it was
}

const ledgerGone = "the ledger is gone"

var (
	withoutData = loss{"back without its data", ledgerGone, func(c *chaos) string { return c.swapData("") }}
	olderCopy   = loss{"an older copy", "it is an older copy", func(c *chaos) string { return c.swapData(c.copied) }}
)

// waysOn are what a person does about a loss. Each says whether all is there again.
var waysOn = []struct {
	name string
	can  func(l loss) bool
	do   func(c *chaos, backup, kept string)
}{
	{"adopt", func(loss) bool { return true }, func(c *chaos, _, _ string) { c.must("up", "--adopt-empty") }},
	{"import a backup", func(l loss) bool { return l.says == ledgerGone }, func(c *chaos, backup, _ string) { c.must("ledger", "import", backup) }},
	{"bring the data back", func(loss) bool { return true }, func(c *chaos, _, kept string) { c.swapData(kept) }},
}

// copyData copies the blackboard's data as a sudden end leaves it.
func (c *chaos) copyData() (copied string) {
	c.t.Helper()
	c.data.down()
	copied = filepath.Join(c.t.TempDir(), "copy")
	c.sh(`cp -a "$1" "$2"`, c.data.dir(), copied)
	c.data.up()
	return copied
}

// swapData replaces the blackboard's data, by nothing if empty, and keeps it as it was.
func (c *chaos) swapData(by string) (kept string) {
	c.t.Helper()
	c.data.down()
	kept = filepath.Join(c.t.TempDir(), "kept")
	c.sh(`mv "$1" "$2" && { [ -z "$3" ] || cp -a "$3" "$1"; }`, c.data.dir(), kept, by)
	c.data.up()
	return kept
}

func (c *chaos) sh(script string, args ...string) {
	c.t.Helper()
	if out, err := exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...).CombinedOutput(); err != nil {
		c.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// lose has the blackboard lose what it acknowledged, while goals are worked on and one
// agent stands still. A wait for a goal ends with the reason, as does another command,
// and a person goes on.
func (c *chaos) lose() {
	c.t.Helper()
	l := c.losses[c.random.IntN(len(c.losses))]
	on := waysOn[c.random.IntN(len(waysOn))]
	for !on.can(l) {
		on = waysOn[c.random.IntN(len(waysOn))]
	}
	c.t.Logf("%s; way on: %s", l.name, on.name)
	c.answered()
	c.pid("agent-writer")
	if again := c.random.IntN(2) == 0; c.copied == "" || again {
		c.copied = c.copyData()
	}
	if l.name == olderCopy.name {
		c.fallBehind()
	}
	thaw := freezeOf("agent-writer").begin(c)
	goal, waited := c.forage()
	backup := filepath.Join(c.t.TempDir(), "backup")
	c.must("ledger", "export", "--file", backup) // after which the state directory knows how long the ledger is

	kept := l.lose(c)
	// A wait that saw no more of the ledger than the copy has only misses its goal.
	if code, said := waited(); code != 3 || !strings.Contains(said, l.says) && !strings.Contains(said, "cannot be found any more") {
		c.t.Errorf("%s: the wait ended with %d: %s", l.name, code, said)
	}
	if code, out := c.sett("goals"); code != 7 || !strings.Contains(out, l.says) || !strings.Contains(out, "sett up --adopt-empty") {
		c.t.Errorf("%s: sett goals ended with %d: %s", l.name, code, out)
	}
	thaw() // up waits for all agents
	on.do(c, backup, kept)
	if code, out := c.sett("goals"); code != 0 {
		c.t.Errorf("%s, and after %q: sett goals ended with %d: %s", l.name, on.name, code, out)
	}
	c.recount(append(c.open, goal), on.name == "adopt")
}

// fallBehind puts a goal's entries between the copy and the present, with a leader that
// saw them. One that saw none would go on with the copy, and then take the newer data for
// an older copy.
func (c *chaos) fallBehind() {
	c.t.Helper()
	c.settled()
	goal := c.post("x")
	c.await(goal, enough)
	c.open = append(c.open, goal)
}

// recount drops the goals that were lost, and has those awaited that are active, though
// they may have ended once.
func (c *chaos) recount(open []string, losses bool) {
	c.t.Helper()
	active, err := c.board.Index.ActiveWorkflows(context.Background())
	if err != nil {
		c.t.Fatal(err)
	}
	all := slices.Compact(slices.Sorted(slices.Values(append(open, active...))))
	c.open = slices.DeleteFunc(slices.Clone(all), c.isLost)
	c.lost += len(all) - len(c.open)
	if !losses && len(c.open) != len(all) {
		c.t.Errorf("%d goals are lost", len(all)-len(c.open))
	}
}

// isLost says whether a goal is on the blackboard no more.
func (c *chaos) isLost(goal string) bool {
	_, err := c.board.Records.Workflow(context.Background(), goal)
	if err != nil && !errors.Is(err, blackboard.ErrNotFound) {
		c.t.Errorf("read goal %s: %v", goal, err)
	}
	return err != nil
}

// forage has a person post a goal and wait for it.
func (c *chaos) forage() (goal string, waited func() (code int, said string)) {
	c.t.Helper()
	newest := func() string {
		ids, err := c.board.Index.Goals(context.Background(), 1)
		if err != nil || len(ids) == 0 {
			c.t.Fatalf("no goals: %v", err)
		}
		return ids[0]
	}
	before := newest()
	cmd := c.command("forage", "--wait", "x")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	eventually(c.t, enough, "a goal by sett forage", func() bool { goal = newest(); return goal != before })
	return goal, func() (int, string) {
		late := time.AfterFunc(enough, func() { _ = cmd.Process.Signal(os.Interrupt) })
		defer late.Stop()
		_ = cmd.Wait()
		return cmd.ProcessState.ExitCode(), said.String()
	}
}

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/blackboard/redis/redistest"
	"sett/roles/role"
)

// A sett down that cannot reach the blackboard stops work, which did not fail: the next sett up queues it again, though its
// agent has no retries, and the commit of the result that could not be handed in is a leftover.
func TestDownWithoutBlackboard(t *testing.T) {
	t.Parallel()
	r := redistest.Embedded(t)
	e, dir := workspace(t)
	repo, at := e.Args[1], t.TempDir()
	rewrite(t, e, fmt.Sprintf(`
runtime: process
redis: {timeout: 500ms, retries: 0}
agents:
  one:
    command: [sh, -c, 'cat >/dev/null; echo x >>%[1]s/runs; while [ ! -e %[1]s/go ]; do sleep 0.02; done; echo made >made; echo done >%[1]s/done']
    adapter: commit
    makes: CodeCommit
    workspace: {mode: rw}
    stop_grace_period: 1s
    bids: {GoalDefined: exclusive}
`, at))
	for _, args := range [][]string{{"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "first"}} {
		gitIn(t, repo, "", args...)
	}
	step := func(says string, args ...string) string {
		t.Helper()
		code, said := saidBy(t, e, args...)
		if code != role.OK || !strings.Contains(said, says) {
			t.Fatalf("%v ends with %d, and says\n%s", args, code, said)
		}
		return said
	}
	step("", "up", "--yes", "--redis-url", r.URL)
	step("", "forage", "--goal", "g")
	appears(t, filepath.Join(at, "runs"))
	r.Kill()
	if err := os.WriteFile(filepath.Join(at, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	appears(t, filepath.Join(at, "done"))
	appears(t, filepath.Join(dir, "store", "taken", "*"))
	said := step("the blackboard was not told of the stop (", "down")
	has(t, said, "the next sett up queues the work of these agents again", "the result of agent one for claim ")
	appears(t, filepath.Join(dir, "cut-off.json"))
	r.Restart()
	step("is queued again for agent one: sett down stopped it", "up", "--yes")
	if _, err := os.Stat(filepath.Join(dir, "cut-off.json")); err == nil {
		t.Error("the note is still there")
	}
	if _, said := saidBy(t, e, "wait", "@last", "--timeout", "60s"); !strings.Contains(said, "without a Terminal") { // its one result is there
		t.Errorf("wait: %s", said)
	}
	said = step("exclusive  one  done", "show", "@last")
	if strings.Contains(said, "crashed") || strings.Contains(said, "failed") {
		t.Errorf("show: %s", said)
	}
	for limit := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if _, said := saidBy(t, e, "leftovers"); strings.Contains(said, "/one-1") {
			break
		} else if time.Now().After(limit) {
			t.Fatalf("leftovers: %s", said)
		}
	}
	step("", "down", "--purge", "--yes")
}

// appears waits for a file.
func appears(t *testing.T, pattern string) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if all, _ := filepath.Glob(pattern); len(all) > 0 {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%s does not appear", pattern)
		}
	}
}

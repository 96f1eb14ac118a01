package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sett/blackboard/redis/redistest"
)

// twin prepares another workspace, of another user, with the same name on the same server.
func (in *instance) twin() *instance {
	in.t.Helper()
	return prepare(in.t, options{clan: in.clan, url: in.o.url, name: in.name})
}

// refuses runs a command that is refused because the board is another workspace's.
func (in *instance) refuses(of *instance, says []string, args ...string) {
	in.t.Helper()
	code, out := in.sett(args...)
	for _, want := range append(says, "of another workspace: "+of.repo+" of ") {
		if code != 2 || !strings.Contains(out, want) {
			in.t.Errorf("sett %v ended with %d, without %q:\n%s", args, code, want, out)
		}
	}
}

// Two workspaces that choose one name on one Redis keep off each other's board. The second is
// refused before anything of it starts, whatever the first is doing, and takes the board over
// only when a person says so and nothing is at work on it.
func TestTwoWorkspacesOfOneName(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Durable...)
	one := start(t, options{clan: dawdling(), url: s.URL})
	two := one.twin()
	working := []string{"and it is at work", "--name OTHER", "sett down there"}
	two.refuses(one, working, "up")
	two.refuses(one, working, "up", "--dry-run")
	two.refuses(one, working, "up", "--take-over")
	two.refuses(one, working, "up", "--adopt-empty")
	if _, err := os.Stat(two.stateDir()); !os.IsNotExist(err) {
		t.Errorf("a refused up left its state: %v", err)
	}
	one.must("forage", "--wait", "one")
	one.up() // again
	one.must("down")
	two.refuses(one, []string{"--name OTHER", "sett up --take-over\n"}, "up")
	two.refuses(one, []string{"--name OTHER --redis-url " + s.URL, "sett up --take-over --redis-url " + s.URL + "\n"}, "up", "--redis-url", s.URL)
	one.up()
	one.must("forage", "--wait", "one again")
	one.must("down")

	if out := two.must("up", "--take-over"); !strings.Contains(out, "taken over from "+one.repo) {
		t.Errorf("said %s", out)
	}
	two.open()
	two.must("forage", "--wait", "two")
	export := filepath.Join(t.TempDir(), "export")
	two.must("ledger", "export", "--file", export)
	for _, args := range [][]string{{"up"}, {"forage", "three"}, {"cancel", "@last", "why"}, {"retry", "@last"}, {"restart", "doer"}, {"approve"}, {"models", "pause", "why"}, {"ledger", "import", export}} {
		one.refuses(two, nil, args...)
	}
	for _, args := range [][]string{{"goals"}, {"why", "@last"}, {"hoard"}, {"ledger", "export", "--file", export + ".copy"}} {
		if code, out := one.sett(args...); code != 0 || strings.Count(out, "of another workspace: "+two.repo) != 1 {
			t.Errorf("sett %v ended with %d: %s", args, code, out)
		}
	}
	// A stop, and a purge, of the first are about the first alone.
	one.must("down")
	one.must("down", "--purge", "--yes")
	two.must("forage", "--wait", "four")
	if n := strings.Join(call(t, s, "LLEN", "sett:{"+two.name+"}:artefacts"), ""); n == "0" {
		t.Error("the board of the second is gone")
	}
	two.must("down", "--purge", "--yes")
	one.up() // the name is free again
	one.must("forage", "--wait", "five")
}

// Parts of a workspace that was cut off while its board was taken over do nothing on it when
// they come back.
func TestTakenOverWhileCutOff(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Durable...)
	one := start(t, options{clan: dawdling(), url: s.URL})
	two := one.twin()
	parts := []string{"keeper", "orchestrator", ""}
	for name := range one.allRunning() {
		if strings.Contains(name, "doer") {
			parts[2] = name
		}
	}
	for _, part := range parts {
		one.signal(part, syscall.SIGSTOP)
	}
	eventually(t, enough, "the first counts as gone", func() bool {
		code, _ := two.sett("up", "--take-over")
		return code == 0
	})
	two.open()
	for _, part := range parts {
		one.signal(part, syscall.SIGCONT)
	}
	one.says("orchestrator", "this is not the blackboard of before: nothing is granted")
	one.says("doer", "this is not the blackboard that the cub worked on: it ends")
	two.must("forage", "--wait", "two")
	one.must("down") // is about its own parts alone
	two.must("forage", "--wait", "three")
}

// A workspace is known by its id, wherever it is. One that has lost its id gets the board of
// the same path, host and user back when nothing is at work on it.
func TestWorkspaceOfTheBoard(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Durable...)
	in := start(t, options{clan: dawdling(), url: s.URL})
	in.must("forage", "--wait", "one")
	in.must("down")
	key := "sett:{" + in.name + "}:instance"
	call(t, s, "HSET", key, "owner_workspace", "/elsewhere", "owner_host", "there", "owner_user", "bob")
	in.up()
	if where := strings.Join(call(t, s, "HGET", key, "owner_workspace"), ""); where != in.repo {
		t.Errorf("the board has the workspace %s", where)
	}
	in.must("down")
	call(t, s, "HDEL", key, "owner", "owner_workspace", "owner_host", "owner_user") // of an older sett
	in.up()
	in.must("down")

	home := in.repo
	for _, to := range []string{home + "-moved", home} {
		if err := os.Rename(in.repo, to); err != nil {
			t.Fatal(err)
		}
		in.repo = to
		in.must("up", "--runtime", "process", "--name", in.name)
		in.must("down")
	}
	if err := os.RemoveAll(in.stateDir()); err != nil {
		t.Fatal(err)
	}
	if out := in.must("up", "--runtime", "process"); !strings.Contains(out, "the blackboard knows this workspace by another record") {
		t.Errorf("said %s", out)
	}
	in.open()
	in.must("forage", "--wait", "two")
	in.must("down")

	// A board that was emptied while the instance was down has no owner until a person adopts it.
	call(t, s, "FLUSHALL")
	code, out := in.sett("up")
	if code != 7 || !strings.Contains(out, "the ledger is gone") {
		t.Errorf("with an empty board up ended with %d: %s", code, out)
	}
	if owner := strings.Join(call(t, s, "HGET", key, "owner"), ""); owner != "" && owner != "<nil>" {
		t.Errorf("a refused up left the owner %q", owner)
	}
	in.must("up", "--adopt-empty")
	in.must("down")
	if err := os.RemoveAll(in.stateDir()); err != nil {
		t.Fatal(err)
	}
	call(t, s, "HSET", key, "owner_host", "there")
	code, out = in.sett("up")
	if code != 2 || !strings.Contains(out, " on there\n") {
		t.Errorf("on another host up ended with %d: %s", code, out)
	}
	in.must("up", "--take-over")
}

// A board without an owner, as of an older Sett, goes to the instance that knows its mark, also
// while it is at work. Others get it when nothing is at work.
func TestBoardWithoutAnOwner(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Durable...)
	one := start(t, options{clan: dawdling(), url: s.URL})
	two := one.twin()
	key := "sett:{" + one.name + "}:instance"
	disown := func() { call(t, s, "HDEL", key, "owner", "owner_workspace", "owner_host", "owner_user") }
	disown()
	for _, args := range [][]string{{"up"}, {"up", "--take-over"}, {"up", "--adopt-empty"}} {
		code, out := two.sett(args...)
		if code != 2 || !strings.Contains(out, "of another workspace: one that is not recorded, of an older sett, and it is at work") || !strings.Contains(out, "then sett up\n") {
			t.Errorf("sett %v ended with %d:\n%s", args, code, out)
		}
	}
	one.up()
	one.must("forage", "--wait", "one")
	disown()
	for _, part := range []string{"keeper", "orchestrator", "doer"} {
		one.shootAll(part)
	}
	one.up() // at once, while what was killed counts as at work
	one.must("forage", "--wait", "two")
	one.must("down")
	disown()
	two.must("up")
	two.must("down")
}

// A copy of a state directory has the id of the original. It is refused while the original is
// at work, stops nothing there, and goes on where the original was killed.
func TestCopyOfAWorkspace(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Durable...)
	one := start(t, options{clan: dawdling(), url: s.URL})
	two := one.twin()
	if err := os.MkdirAll(two.stateDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"owner.json", "board.json"} {
		text, err := os.ReadFile(filepath.Join(one.stateDir(), name))
		if err == nil {
			err = os.WriteFile(filepath.Join(two.stateDir(), name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	two.refuses(one, []string{"and it is at work"}, "up", "--timeout", "90s")
	one.must("forage", "--wait", "one")
	for _, part := range []string{"keeper", "orchestrator", "doer"} {
		one.shootAll(part)
	}
	two.up() // waits until what was killed counts as gone
	two.must("forage", "--wait", "two")
	two.must("down")

	// The original comes back, and the copy has what an ended instance leaves.
	one.up()
	two.must("down")
	one.must("forage", "--wait", "three")
	one.must("down")
}

// A sett up that fails while another orchestrator leads does not have the instance stopped.
func TestFailedUpStopsNoOther(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Durable...)
	in := start(t, options{clan: dawdling(), url: s.URL})
	in.must("down")
	in.leadElsewhere(s)
	cmd := in.command("up", "--runtime", "process", "--timeout", "5s")
	cmd.Env = append(cmd.Env, "SETT_LEADER_LEASE=4m")
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 4 {
		t.Fatalf("up: %v: %s", err, out)
	}
	if state := strings.Join(call(t, s, "HGET", "sett:{"+in.name+"}:instance", "state"), ""); state != "running" {
		t.Errorf("the board is %s", state)
	}
}

// A sett up during which another workspace takes the board ends, and says so.
func TestTakenDuringUp(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Durable...)
	in := start(t, options{clan: dawdling(), url: s.URL})
	in.must("down")
	in.leadElsewhere(s) // the up waits for its orchestrator
	key := "sett:{" + in.name + "}:instance"
	cmd := in.command("up", "--runtime", "process", "--timeout", "2m")
	cmd.Env = append(cmd.Env, "SETT_LEADER_LEASE=4m")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, enough, "the up has its board", func() bool { return strings.Join(call(t, s, "HGET", key, "state"), "") == "running" })
	call(t, s, "HSET", key, "owner", "other", "owner_workspace", "/theirs", "owner_host", "there", "owner_user", "bob")
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(said.String(), "of another workspace: /theirs of bob on there, which took it over meanwhile") {
		t.Errorf("up ended with %d:\n%s", code, said.String())
	}
}

// leadElsewhere has another orchestrator lead the board for some minutes.
func (in *instance) leadElsewhere(s *redistest.Server) {
	in.t.Helper()
	until := strconv.FormatInt(time.Now().Add(4*time.Minute).UnixMicro(), 10)
	call(in.t, s, "SET", "sett:{"+in.name+"}:leader", "orchestrator-elsewhere "+until)
}

// shootAll kills the units with that in their names.
func (in *instance) shootAll(part string) {
	in.t.Helper()
	for name := range in.allRunning() {
		if strings.Contains(name, part) {
			in.shoot(name)
		}
	}
}

package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role/hosttest"
	"sett/roles/role/persontest"
	"sett/roles/role/store"
	"sett/runtime"
	"sett/runtime/process"
)

// instance is a running clan in a workspace of its own, started with `sett up`.
type instance struct {
	t     testing.TB
	name  string
	repo  string // the workspace
	root  string // everything but the workspace: home and state
	at    place
	board *redis.Board // past the proxy
	url   string       // what board is opened with; empty: the instance's own
	clan  clan
	o     options
	// Called before and after each word of the person who sees a goal through, with
	// the agent that the word is about.
	onWord func(said bool, agent string)
	mine   mine
}

// options say how an instance differs from the usual.
type options struct {
	clan     clan
	url      string // of the blackboard, as the instance sees it; empty: embedded
	boardURL string // as the test sees it; empty: the same
	docker   bool   // its units are containers; else processes
	name     string // empty: one that nobody else has
	host     string // DOCKER_HOST, where it is not the engine's own
	onHost   bool   // the orchestrator is a process all the same

	user func(*exec.Cmd) *exec.Cmd // runs a command as the instance's user; nil: the test's own
}

// prepare makes the workspace and everything else an instance needs, and sees to
// it that nothing is left of it after the test.
func prepare(t testing.TB, o options) *instance {
	t.Helper()
	root := t.TempDir()
	hosttest.Removable(t, root) // once nothing runs any more
	in := &instance{t: t, name: o.name, root: root, repo: filepath.Join(root, "work"), url: o.boardURL, clan: o.clan, o: o}
	if in.name == "" {
		in.name = "e2e-" + strings.ToLower(rand.Text()[:8])
	}
	if in.url == "" {
		in.url = o.url
	}
	for _, dir := range []string{in.repo, filepath.Join(root, "home")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	in.at = processes{process.New(process.Options{Dir: in.stateDir(), Logger: slog.New(slog.DiscardHandler)})}
	if o.docker {
		in.at = newContainers(t, in)
	}
	o.clan.write(in)
	in.git("init", "-q", "-b", "main")
	in.git("add", ".")
	in.git("commit", "-q", "-m", "begin")
	t.Cleanup(in.finish)
	return in
}

// runtime is what --runtime is given.
func (o options) runtime() string {
	if o.docker {
		return "docker"
	}
	return "process"
}

// pillars are the units that bring the others back.
func (o options) pillars() []string {
	if o.docker && !o.onHost {
		return []string{"orchestrator"}
	}
	return []string{"keeper", "orchestrator"}
}

// start is prepare and up.
func start(t testing.TB, o options) *instance {
	t.Helper()
	in := prepare(t, o)
	in.up()
	return in
}

// leaseTime is short, so that takeovers are quick.
const leaseTime = "600ms"

func (in *instance) stateDir() string { return filepath.Join(in.root, "state", "sett", in.name) }

func (in *instance) environ() []string {
	all := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(in.root, "home"), "XDG_STATE_HOME=" + filepath.Join(in.root, "state"),
		"SETT_INSTANCE=" + in.name, "SETT_LEADER_LEASE=" + leaseTime, "GORACE=atexit_sleep_ms=0", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.org",
	}
	if in.clan.noCourses {
		all = append(all, "SETT_COURSES=off")
	}
	if in.o.docker {
		all = append(all, engineEnviron(in.o.host)...)
	}
	return all
}

// command is a sett command in the workspace, not yet started. A sett up agrees to the
// rights that the test's sett.yml takes, and has as much time as the test itself, unless
// the test says otherwise.
func (in *instance) command(args ...string) *exec.Cmd {
	if args[0] == "up" {
		args = append([]string{"up", "--yes", "--timeout", enough.String()}, args[1:]...)
	}
	bin := binary
	if in.o.docker {
		bin = static.path
	}
	return in.asUser(exec.Command(bin, args...))
}

// asUser has a command run in the workspace, as the instance's user.
func (in *instance) asUser(cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir, cmd.Env = in.repo, in.environ()
	if in.o.user == nil {
		return cmd
	}
	return in.o.user(cmd)
}

// sett runs a command and returns its exit code and what it said.
func (in *instance) sett(args ...string) (code int, out string) {
	in.t.Helper()
	if persontest.Writes(args) {
		defer in.act("sett " + args[0])()
	}
	var buf bytes.Buffer
	cmd := in.command(args...)
	cmd.Stdout, cmd.Stderr = &buf, &buf
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		in.t.Fatalf("sett %v: %v", args, err)
	}
	return cmd.ProcessState.ExitCode(), buf.String()
}

// must is sett where anything but success fails the test.
func (in *instance) must(args ...string) string {
	in.t.Helper()
	code, out := in.sett(args...)
	if code != 0 {
		in.t.Fatalf("sett %v ended with %d:\n%s", args, code, out)
	}
	return out
}

func (in *instance) up() {
	in.t.Helper()
	in.must("up", "--runtime", in.o.runtime())
	in.open()
}

// open connects the test itself to the blackboard.
func (in *instance) open() {
	in.t.Helper()
	if in.board != nil {
		in.board.Close()
	}
	url := in.url
	if url == "" {
		url = in.boardURL()
	}
	var err error
	in.board, err = redis.Open(context.Background(), redis.Options{URL: url, Instance: in.name, Name: "test", Retries: 20})
	if err != nil {
		in.t.Fatal(err)
	}
}

// boardURL is the blackboard as sett up wrote it down.
func (in *instance) boardURL() string {
	in.t.Helper()
	var state struct{ URL string }
	raw, err := os.ReadFile(filepath.Join(in.stateDir(), "instance.json"))
	if err == nil {
		err = json.Unmarshal(raw, &state)
	}
	if err != nil || state.URL == "" {
		in.t.Fatalf("no blackboard: %v", err)
	}
	return state.URL
}

func (in *instance) git(args ...string) string {
	in.t.Helper()
	if in.persons(args) {
		defer in.act("git " + args[0])()
	}
	out, err := in.asUser(exec.Command("git", args...)).CombinedOutput()
	if err != nil {
		in.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// post posts a goal that begins with HEAD, as sett forage does, and returns its id.
func (in *instance) post(text string) string {
	in.t.Helper()
	id := blackboard.NewID(time.Now(), rand.Reader)
	in.git("push", "-q", in.storeDir(), "HEAD:"+store.Goal(id))
	base := strings.TrimSpace(in.git("rev-parse", "HEAD"))
	metadata, err := json.Marshal(map[string]string{"base": base, "branch": "main"})
	if err != nil {
		in.t.Fatal(err)
	}
	err = in.board.People.PostGoal(context.Background(), blackboard.Artefact{
		ID: id, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined, Payload: text,
		ProducedByRole: blackboard.RoleUser, WorkflowID: id, Metadata: metadata,
	}, "ann")
	if err != nil {
		in.t.Fatal(err)
	}
	return id
}

// await waits until the goal's workflow has ended.
func (in *instance) await(goal string, limit time.Duration) {
	in.t.Helper()
	var w blackboard.Workflow
	for began := time.Now(); ; <-again(began) {
		var err error
		w, err = in.board.Records.Workflow(context.Background(), goal)
		if err == nil && w.Status.Ended() {
			return
		}
		if time.Since(began) > limit {
			_, shown := in.sett("show", goal)
			open, unread := in.board.Index.OpenWork(context.Background())
			in.t.Fatalf("goal %s did not end within %s: %+v %v\n%s\nopen work: %+v %v", goal, limit, w, err, shown, open, unread)
		}
	}
}

// pid returns the process id of a unit, which it waits for.
func (in *instance) pid(name string) int {
	in.t.Helper()
	var pid int
	eventually(in.t, enough, "unit "+name, func() bool {
		u, ok := in.running(name)
		if ok {
			pid = in.at.pid(u)
		}
		return ok && pid > 0
	})
	return pid
}

// kill ends a unit with SIGKILL.
func (in *instance) kill(name string) {
	in.t.Helper()
	in.pid(name)
	in.shoot(name)
	if in.t.Failed() {
		in.t.FailNow()
	}
}

func (in *instance) signal(name string, s syscall.Signal) {
	in.t.Helper()
	pid := in.pid(name)
	if err := syscall.Kill(pid, s); err != nil {
		in.t.Fatalf("signal %s: %v", name, err)
	}
	if s == syscall.SIGSTOP {
		eventually(in.t, enough, name+" stands still", func() bool { return stopped(pid) })
	}
}

// shoot kills a unit from any goroutine.
func (in *instance) shoot(name string) {
	u, pid := in.process(name)
	// What has just begun may be at work before the engine says that it runs, or as which process.
	for began := time.Now(); pid <= 0 && time.Since(began) < enough; u, pid = in.process(name) {
		<-again(began)
	}
	if pid <= 0 {
		in.t.Errorf("kill %s: it does not run", name)
		return
	}
	if err := in.at.kill(u); err != nil {
		in.t.Errorf("kill %s: %v", name, err)
	}
	// A killed process may be seen for a moment more.
	for began := time.Now(); time.Since(began) < enough; <-again(began) {
		if now, at := in.process(name); now.ID != u.ID || at != pid { // a container that runs again keeps its id
			return
		}
	}
	in.t.Errorf("kill %s: process %d still runs after %s", name, pid, enough)
}

// process returns a unit that runs and its process; 0: there is none.
func (in *instance) process(name string) (runtime.Unit, int) {
	u, ok := in.running(name)
	if !ok {
		return u, 0
	}
	return u, in.at.pid(u)
}

// running returns a unit that runs.
func (in *instance) running(name string) (runtime.Unit, bool) {
	u, ok := in.allRunning()[name]
	return u, ok
}

// allRunning returns all units that run, by name.
func (in *instance) allRunning() map[string]runtime.Unit {
	units, err := in.at.List(context.Background(), nil)
	if err != nil {
		in.t.Errorf("list units: %v", err)
	}
	all := map[string]runtime.Unit{}
	for _, u := range units {
		if u.Running {
			all[u.Name] = u
		}
	}
	return all
}

// settled waits until all parts run and the agents have reported.
func (in *instance) settled() {
	in.t.Helper()
	for _, name := range in.o.pillars() {
		in.pid(name)
	}
	eventually(in.t, enough, "all agents present", func() bool {
		present, err := in.board.Roster.Agents(context.Background())
		if err != nil {
			return false
		}
		running := in.allRunning()
		for _, a := range in.clan.agents {
			u, ok := running["agent-"+a.name]
			p := present[a.name]
			if !ok || p.Incarnation != u.Labels[runtime.LabelIncarnation] || p.Alive.IsZero() {
				return false
			}
		}
		return true
	})
}

// killAll ends all units with SIGKILL, as fast as they can be found, and what
// they start meanwhile, until none is left.
func (in *instance) killAll() {
	in.t.Helper()
	eventually(in.t, enough, "end of all units", func() bool {
		units, err := in.at.List(context.Background(), nil)
		if err != nil {
			in.t.Fatal(err)
		}
		left := false
		for _, u := range units {
			if u.Running {
				left = true
				_ = in.at.kill(u) // it may have ended by itself
			}
		}
		return !left
	})
}

// restarted waits until another process runs under the unit's name.
func (in *instance) restarted(name string, old int) {
	in.t.Helper()
	eventually(in.t, enough, "restart of "+name, func() bool {
		u, ok := in.running(name)
		pid := in.at.pid(u)
		return ok && pid > 0 && pid != old
	})
}

// bounce kills a unit and waits until it runs again.
func (in *instance) bounce(name string) {
	in.t.Helper()
	old := in.pid(name)
	in.kill(name)
	in.restarted(name, old)
}

// goals returns the ids of all goals, newest last.
func (in *instance) goals() []string {
	in.t.Helper()
	goals, err := in.board.Index.Goals(context.Background(), 0)
	if err != nil {
		in.t.Fatal(err)
	}
	return goals
}

// afterEntries waits until the ledger has so many entries about a workflow.
func (in *instance) afterEntries(goal string, n int) {
	in.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), enough)
	defer cancel()
	errEnough := errors.New("enough")
	err := in.board.Ledger.Follow(ctx, "0-0", func(e blackboard.Event) error {
		if e.Workflow == goal {
			if n--; n <= 0 {
				return errEnough
			}
		}
		return nil
	}, func(error) {})
	if !errors.Is(err, errEnough) {
		in.t.Fatalf("ledger: %d more entries expected: %v", n, err)
	}
}

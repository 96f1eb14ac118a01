package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ory/dockertest/v3"
	godocker "github.com/ory/dockertest/v3/docker"
	"github.com/rogpeppe/go-internal/testscript"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
	"sett/contract/config"
	"sett/roles/cli/deploy"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/runtime"
	"sett/runtime/docker"
	"sett/runtime/docker/engine"
)

// The images that these tests run, which testdata/images makes where they lack.
var dockerImages = []string{config.DefaultRedisImage, config.DefaultRepositoryImage, "sett-base:local"}

// openTestEngine opens the engine and sees to the images, once.
var openTestEngine = sync.OnceValues(func() (*engine.Engine, error) {
	if why := redistest.NoDocker(); why != "" {
		return nil, errors.New(why)
	}
	e, err := instance.OpenEngine(context.Background(), os.LookupEnv)
	if err != nil {
		return nil, errors.New(redistest.Unreached(err))
	}
	pool, err := dockertest.NewPool("")
	if err != nil {
		return nil, err
	}
	for _, image := range dockerImages {
		if _, err := pool.Client.InspectImage(image); err == nil {
			continue
		}
		if out, err := exec.Command("../../testdata/images/images.sh").CombinedOutput(); err != nil {
			return nil, fmt.Errorf("make %s: %w\n%s", image, err, out)
		}
	}
	return e, nil
})

// testVersion is what the scripts' sett says of itself, and its control images.
const testVersion = "v0.0.0-test"

// removeTestImages removes the control images that the tests made.
func removeTestImages() {
	pool, err := dockertest.NewPool("")
	if err != nil {
		return
	}
	all, _ := pool.Client.ListImages(godocker.ListImagesOptions{})
	for _, image := range all {
		ours := func(tag string) bool { return strings.HasPrefix(tag, "sett:"+testVersion+"-") }
		if !slices.ContainsFunc(image.RepoTags, ours) {
			continue
		}
		for _, tag := range image.RepoTags {
			if ours(tag) || tag == "sett:latest" { // which is the newest, and these are
				_ = pool.Client.RemoveImage(tag) // one in use stays
			}
		}
	}
}

// needEngine returns the container engine, or skips the test where there is none.
func needEngine(t *testing.T) *engine.Engine {
	t.Helper()
	if testing.Short() {
		t.Skip(later)
	}
	e, err := openTestEngine()
	if err != nil {
		t.Skip(err)
	}
	return e
}

// TestDockerScripts runs what needs an engine. Each script has a NAME of its own
// for its instance, and what it left on the engine is removed.
func TestDockerScripts(t *testing.T) {
	if testing.Short() {
		t.Skip(later)
	}
	t.Parallel()
	e := needEngine(t)
	binary, err := buildSett()
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob("testdata/docker/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files: append(scripts, "testdata/script/documents.txtar"), // that one runs in both places
		Setup: func(env *testscript.Env) error {
			name := "cli-" + strings.ToLower(blackboard.NewID(time.Now(), role.OS(nil, role.Build{}).Entropy)[16:])
			env.Setenv("SETT_LINUX_BINARY", binary)
			env.Values["name"] = name
			env.Defer(func() { endContainers(e, name) })
			if err := setup(env, binary); err != nil {
				return err
			}
			env.Setenv("NAME", name)
			env.Setenv("UP", "")
			for _, v := range []string{"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "XDG_RUNTIME_DIR"} {
				env.Setenv(v, os.Getenv(v)) // empty is not set
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "engine": engineCommand(e), "eventually": eventually},
	})
}

// endContainers removes all that the engine has of the instances whose names begin
// with this one's.
func endContainers(e *engine.Engine, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	all, _ := docker.Instances(ctx, e)
	for _, in := range all {
		if !strings.HasPrefix(in.Name, name) {
			continue
		}
		rt := docker.New(e, docker.Options{Instance: in.Name, Labels: runtime.Labels{runtime.LabelWorkspace: in.Workspace}})
		for _, u := range slices.Backward(in.Units) { // the orchestrator before agents would be better, and comes again
			_ = rt.Stop(ctx, u.Name, 0)
		}
		units, _ := rt.List(ctx, nil)
		for _, u := range units {
			_ = rt.Stop(ctx, u.Name, 0)
		}
		_ = rt.Purge(ctx)
	}
	_ = docker.New(e, docker.Options{Instance: name}).Purge(ctx) // of a sett try there are images alone
}

// engineCommand is the script command `engine kill|pause|unpause|remove|cut UNIT`, which does
// that to a container of the instance, and `engine has` or `! engine has`; `engine has try`: of a
// sett try in its workspace.
func engineCommand(e *engine.Engine) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		name := ts.Getenv("NAME")
		if args[0] == "has" {
			of := func(in docker.Instance) bool { return in.Name == name }
			if len(args) == 2 {
				of = func(in docker.Instance) bool {
					return strings.HasPrefix(in.Name, args[1]+"-") && filepath.Base(in.Workspace) == name
				}
			}
			all, err := docker.Instances(context.Background(), e)
			ts.Check(err)
			if has := slices.ContainsFunc(all, of); has == neg {
				ts.Fatalf("the engine has of %s: %v: %+v", name, has, all)
			}
			return
		}
		if neg || len(args) != 2 {
			ts.Fatalf("usage: engine kill|pause|unpause|remove|cut unit")
		}
		pool, err := dockertest.NewPool("")
		ts.Check(err)
		c, err := pool.Client.InspectContainer("sett-" + name + "." + args[1])
		ts.Check(err)
		switch args[0] {
		case "kill":
			err = pool.Client.StopContainer(c.ID, 0) // as after a restart of the machine: nobody starts it again
		case "pause":
			err = pool.Client.PauseContainer(c.ID)
		case "unpause":
			err = pool.Client.UnpauseContainer(c.ID)
		case "cut": // off its network
			err = pool.Client.DisconnectNetwork("sett-"+name, godocker.NetworkConnectionOptions{Container: c.ID, Force: true})
		case "remove":
			err = pool.Client.RemoveContainer(godocker.RemoveContainerOptions{ID: c.ID, Force: true})
		default:
			err = errors.New("no such verb")
		}
		ts.Check(err)
	}
}

// eventually is the script command `eventually TEXT COMMAND…`: the command's output
// has the text in it within minutes.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually text command…")
	}
	late := time.Now().Add(5 * time.Minute)
	for {
		_ = ts.Exec(args[1], args[2:]...)
		out := ts.ReadFile("stdout")
		if strings.Contains(out, args[0]) {
			return
		}
		if time.Now().After(late) {
			ts.Fatalf("%q never came:\n%s", args[0], out)
		}
	}
}

// containerWorkspace is workspace for containers: a repository, and the world of
// commands in it.
func containerWorkspace(t *testing.T) (e role.Env, engine *engine.Engine, name, dir string) {
	t.Helper()
	engine = needEngine(t)
	e, dir = workspace(t)
	repo := e.Args[1]
	yml := "agents:\n  one:\n    image: sett-base:local\n    command: [\"/bin/cat\"]\n"
	if err := os.WriteFile(filepath.Join(repo, instance.ConfigName), []byte(yml), 0o600); err != nil {
		t.Fatal(err)
	}
	binary, err := buildSett()
	if err != nil {
		t.Fatal(err)
	}
	e.Build.Version = testVersion
	name = "cli-" + strings.ToLower(e.NewID()[16:])
	lookup := e.Lookup
	e.Lookup = func(v string) (string, bool) {
		switch v {
		case deploy.LinuxBinary:
			return binary, true
		case "SETT_INSTANCE":
			return name, true
		case "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "XDG_RUNTIME_DIR":
			return os.LookupEnv(v)
		}
		return lookup(v)
	}
	t.Cleanup(func() { endContainers(engine, name) })
	return e, engine, name, filepath.Join(filepath.Dir(dir), name)
}

func instanceOf(t *testing.T, e *engine.Engine, name string) (docker.Instance, bool) {
	t.Helper()
	all, err := docker.Instances(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(in docker.Instance) bool { return in.Name == name })
	if i < 0 {
		return docker.Instance{}, false
	}
	return all[i], true
}

// TestContainersInterrupted: Ctrl-C at every line that an up prints leaves nothing
// on the engine, and, where there was a ledger before, that.
func TestContainersInterrupted(t *testing.T) {
	t.Parallel()
	e, engine, name, _ := containerWorkspace(t)
	for _, ledger := range []bool{false, true} {
		for _, line := range []string{"/clan", "blackboard", "orchestrator"} {
			for tries := 0; !interruptAt(t, e, line); tries++ { // ready before the interrupt came
				if tries == 5 {
					t.Fatalf("up is always ready before an interrupt at %q", line)
				}
				args := []string{"down"}
				if !ledger {
					args = append(args, "--purge", "--yes")
				}
				if out, err := invoke(context.Background(), e, args...); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			in, has := instanceOf(t, engine, name)
			if has != ledger || len(in.Units) > 0 {
				t.Errorf("interrupted at %q, ledger before %v: left %v %+v", line, ledger, has, in)
			}
		}
		if ledger {
			continue
		}
		if _, err := invoke(context.Background(), e, "up"); err != nil {
			t.Fatal(err)
		}
		if _, err := invoke(context.Background(), e, "down"); err != nil {
			t.Fatal(err)
		}
	}
}

// interruptAt runs an up and interrupts it when it has printed a line with the word.
// It reports whether the interrupt came in time.
func interruptAt(t *testing.T, e role.Env, word string) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, w := io.Pipe()
	e.Stdout = w
	e.Args = append(e.Args[:len(e.Args):len(e.Args)], "up")
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, e); w.Close() }()
	var seen strings.Builder
	for buf := make([]byte, 256); !strings.Contains(seen.String(), word); {
		n, err := r.Read(buf)
		if err != nil {
			t.Fatalf("up ended early: %v\n%s", <-ended, seen.String())
		}
		seen.Write(buf[:n])
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	cancel()
	err := <-ended
	if err != nil && role.CodeOf(err) != role.Interrupted {
		t.Errorf("interrupted at %q: %v", word, err)
	}
	return err != nil
}

// TestContainersOneAtATime: of two ups at the same moment one wins, and the other
// says so; the instance is whole.
func TestContainersOneAtATime(t *testing.T) {
	t.Parallel()
	e, _, _, _ := containerWorkspace(t)
	errs := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := invoke(context.Background(), e, "up")
			errs <- err
		}()
	}
	first, second := <-errs, <-errs
	if first != nil && second != nil || first == nil && second == nil {
		t.Fatalf("both alike: %v, %v", first, second)
	}
	if err := errors.Join(first, second); role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "another sett up or down") {
		t.Errorf("the loser: %v", err)
	}
	var out string
	var err error
	for range 10 { // list gives a busy engine three seconds
		if out, err = invoke(context.Background(), e, "list"); err == nil && strings.Contains(out, "1/1 ready") {
			break
		}
	}
	if err != nil || !strings.Contains(out, "1/1 ready") {
		t.Errorf("%v\n%s", err, out)
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := invoke(stopped, e, "down"); role.CodeOf(err) != role.Interrupted || !strings.Contains(err.Error(), "part of the instance may still run") {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := invoke(context.Background(), e, "down", "--purge", "--yes"); err != nil {
		t.Error(err)
	}
}

// TestSocketInWorkspace: the notifier would get the engine with a workspace that has its
// socket in it.
func TestSocketInWorkspace(t *testing.T) {
	e, engine, _, _ := containerWorkspace(t)
	own := engine.Endpoint().Socket
	if own == "" {
		t.Skip("no container engine: not at a unix socket")
	}
	socket := filepath.Join(e.Args[1], "d.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go pipe(c, own)
		}
	}()
	lookup := e.Lookup
	e.Lookup = func(v string) (string, bool) {
		if v == "DOCKER_HOST" {
			return "unix://" + socket, true
		}
		return lookup(v)
	}
	rewrite(t, e, "notify: {command: [/bin/cat]}\nagents:\n  one: {image: \"sett-base:local\", command: [/bin/cat]}\n")
	_, err = invoke(context.Background(), e, "up", "--yes")
	if role.CodeOf(err) != role.Usage || !strings.Contains(err.Error(), "is in the workspace") {
		t.Errorf("up: %v", err)
	}
}

func pipe(c net.Conn, socket string) {
	defer c.Close()
	s, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer s.Close()
	go func() { _, _ = io.Copy(s, c); s.Close() }()
	_, _ = io.Copy(c, s)
}

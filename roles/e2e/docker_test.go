package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
	"sett/runtime"
	"sett/runtime/docker"
)

// baseImage is what tools of shell scripts need: sh, git, jq.
const baseImage = "sett-base:local"

// static is the sett under test as containers need it, built for the first test
// that has any: from one file, without the race detector.
var static struct {
	once    sync.Once
	path    string
	version string
	latest  string // what sett:latest was before
	skip    string // why there are no containers here
	err     error
	engine  *docker.Engine
	at      docker.Endpoint
}

// needEngine makes ready for tests with containers, and skips them where there is
// no engine for them.
func needEngine(t testing.TB) {
	t.Helper()
	static.once.Do(func() { static.skip, static.err = findEngine() })
	if static.skip != "" {
		t.Skip(static.skip)
	}
	if static.err != nil {
		t.Fatal(static.err)
	}
}

func findEngine() (skip string, err error) {
	if why := redistest.NoEngine(); why != "" {
		return why, nil
	}
	if static.at, err = docker.Find(os.LookupEnv); err != nil {
		return "no container engine: " + err.Error(), nil
	}
	if static.engine, err = docker.Open(context.Background(), static.at); err != nil {
		return "no container engine: " + err.Error(), nil
	}
	if out, err := exec.Command("../../testdata/images/images.sh").CombinedOutput(); err != nil {
		return "", fmt.Errorf("make images: %w\n%s", err, out)
	}
	static.version = "e2e-" + strings.ToLower(rand.Text()[:8])
	static.path = filepath.Join(filepath.Dir(binary), "static", "sett")
	build := exec.Command("go", "build", "-ldflags", "-s -w -X main.version="+static.version, "-o", static.path, "sett")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build static sett: %w\n%s", err, out)
	}
	static.latest, _ = dockerSays("image", "ls", "--quiet", "--no-trunc", "sett:latest")
	return "", nil
}

// forgetEngine removes what the tests' own sett left on the engine, and gives back
// the tag that it took.
func forgetEngine() error {
	if static.path == "" {
		return nil
	}
	ours, err := dockerSays("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", "--filter", "reference=sett:"+static.version+"-*")
	if err != nil {
		return err
	}
	for _, image := range strings.Fields(ours) {
		digest := image[strings.LastIndex(image, "-")+1:]
		if err := removeControl(image); err != nil {
			return err
		}
		volumes, err := dockerSays("volume", "ls", "--quiet", "--filter", "name=sett-bin-"+digest)
		if err != nil {
			return err
		}
		for _, volume := range strings.Fields(volumes) {
			if _, err := dockerSays("volume", "rm", volume); err != nil {
				return err
			}
		}
	}
	return static.engine.Close()
}

// removeControl removes a control image. The tag that it took goes back, unless
// somebody else has taken it since.
func removeControl(image string) error {
	const id = "{{.Id}}"
	ours, err := dockerSays("image", "inspect", "--format", id, image)
	if err != nil {
		return err
	}
	if latest, err := dockerSays("image", "inspect", "--format", id, "sett:latest"); err == nil && latest == ours {
		_, err := dockerSays("tag", static.latest, "sett:latest")
		if err != nil { // there was none, or it is gone
			_, err = dockerSays("image", "rm", "sett:latest")
		}
		if err != nil {
			return err
		}
	}
	_, err = dockerSays("image", "rm", image)
	return err
}

// dockerSays runs the engine's own client.
func dockerSays(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return text, fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, text)
	}
	return text, nil
}

// docker runs the engine's own client, which has to succeed.
func (in *instance) docker(args ...string) string {
	in.t.Helper()
	out, err := dockerSays(args...)
	if err != nil {
		in.t.Fatal(err)
	}
	return out
}

// engineEnviron is how sett finds the engine with a home of its own.
func engineEnviron(host string) []string {
	var all []string
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "DOCKER_") && !strings.HasPrefix(v, "DOCKER_HOST=") {
			all = append(all, v)
		}
	}
	if host == "" {
		host = static.at.Host
	}
	return append(all, "DOCKER_HOST="+host)
}

// engineHost is this machine's address as containers reach it.
func engineHost(t testing.TB) string {
	t.Helper()
	needEngine(t)
	name, err := dockerSays("network", "inspect", "bridge", "--format", `{{index .Options "com.docker.network.bridge.name"}}`)
	if err == nil {
		var bridge *net.Interface
		if bridge, err = net.InterfaceByName(name); err == nil {
			addrs, _ := bridge.Addrs()
			for _, a := range addrs {
				if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
					return n.IP.String()
				}
			}
			err = fmt.Errorf("%s has no address", name)
		}
	}
	t.Skipf("no container engine whose bridge is on this machine: %v", err)
	return ""
}

// containers is the place where units are containers, and with an orchestrator on
// the host some of them processes.
type containers struct {
	*docker.Runtime
	host processes
	name string
}

func newContainers(t testing.TB, in *instance) place {
	needEngine(t)
	c := containers{Runtime: docker.New(static.engine, docker.Options{Instance: in.name}), name: in.name}
	if in.o.onHost {
		c.host, _ = in.at.(processes)
	}
	return c
}

func (c containers) List(ctx context.Context, l runtime.Labels) ([]runtime.Unit, error) {
	units, err := c.Runtime.List(ctx, l)
	if err != nil || c.host.Runtime == nil {
		return units, err
	}
	more, err := c.host.List(ctx, l)
	return append(units, more...), err
}

func (c containers) isProcess(u runtime.Unit) bool { return len(u.ID) < 12 }

func (c containers) pid(u runtime.Unit) int {
	if u.ID == "" || c.isProcess(u) {
		return c.host.pid(u)
	}
	out, err := dockerSays("inspect", "--format", "{{.State.Pid}}", u.ID)
	pid, _ := strconv.Atoi(out)
	if err != nil {
		return 0
	}
	return pid
}

// kill kills the container's process, which the engine cannot tell from its own
// end. From where it is not to be seen only the engine can kill it; it takes that
// for a wish, and so is told to start again what it would have.
func (c containers) kill(u runtime.Unit) error {
	if c.isProcess(u) {
		return c.host.kill(u)
	}
	pid := c.pid(u)
	if pid <= 0 {
		return fmt.Errorf("container %s has no process", u.Name)
	}
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err == nil && bytes.Contains(groups, []byte(u.ID)) && os.Geteuid() == 0 {
		return syscall.Kill(pid, syscall.SIGKILL)
	}
	if _, err := dockerSays("kill", u.ID); err != nil {
		return err
	}
	if policy, _ := dockerSays("inspect", "--format", "{{.HostConfig.RestartPolicy.Name}}", u.ID); policy != "" && policy != "no" {
		_, err = dockerSays("start", u.ID)
	}
	return err
}

// container is the engine's name for a unit.
func (in *instance) container(unit string) string { return "sett-" + in.name + "." + unit }

// onEngine lists what the engine has of the instance.
func (in *instance) onEngine() []string {
	var all []string
	label := "label=" + runtime.LabelInstance + "=" + in.name
	for what, list := range map[string][]string{
		"container": {"ps", "--all", "--format", "{{.Names}} {{.Status}}"},
		"network":   {"network", "ls", "--format", "{{.Name}}"},
		"volume":    {"volume", "ls", "--format", "{{.Name}}"},
		"image":     {"image", "ls", "--format", "{{.Repository}}:{{.Tag}}"},
	} {
		out, err := dockerSays(append(list, "--filter", label)...)
		if err != nil {
			in.t.Error(err)
		}
		for line := range strings.Lines(out) {
			all = append(all, what+" "+strings.TrimSpace(line))
		}
	}
	slices.Sort(all)
	return all
}

// nothingOnEngine checks that the engine has nothing of the instance.
func (in *instance) nothingOnEngine() {
	in.t.Helper()
	if left := in.onEngine(); len(left) > 0 {
		in.t.Errorf("left on the engine by %s: %s", in.name, strings.Join(left, "; "))
		in.wipe(left)
	}
}

// wipe removes what a failed test left, so that it is not in the way of others.
func (in *instance) wipe(left []string) {
	remove := map[string][]string{
		"container": {"rm", "--force", "--volumes"}, "network": {"network", "rm"}, "volume": {"volume", "rm"}, "image": {"image", "rm"},
	}
	for _, what := range []string{"container", "network", "volume", "image"} {
		for _, l := range left {
			if kind, name, _ := strings.Cut(l, " "); kind == what {
				_, err := dockerSays(append(remove[kind], strings.Fields(name)[0])...)
				in.t.Logf("removed %s: %v", l, err)
			}
		}
	}
}

// fetchLogs writes what the containers logged to where processes' logs are.
func (in *instance) fetchLogs() {
	dir := filepath.Join(in.root, "logs")
	out, err := dockerSays("ps", "--all", "--format", "{{.Names}}", "--filter", "label="+runtime.LabelInstance+"="+in.name)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		in.t.Error(err)
	}
	for _, name := range strings.Fields(out) {
		if logs, err := dockerSays("logs", "--timestamps", name); err == nil { // else it is just gone
			file(in.t, filepath.Join(dir, name+".log"), logs, 0o644)
		}
	}
	// What was removed is with the orchestrator.
	_, _ = dockerSays("cp", in.container("orchestrator")+":/control/logs", filepath.Join(dir, "removed"))
}

// logFiles are all logs that there are of the instance.
func (in *instance) logFiles() []string {
	var all []string
	for _, pattern := range []string{in.stateDir() + "/logs/*", in.root + "/logs/*.log", in.root + "/logs/removed/*"} {
		files, _ := filepath.Glob(pattern)
		all = append(all, files...)
	}
	return all
}

// began waits until the agent's tool works on the goal.
func (in *instance) began(goal, agent string) {
	in.t.Helper()
	eventually(in.t, enough, "start of "+agent+"'s grant", func() bool {
		g, err := in.board.Grant(context.Background(), blackboard.BiddingClaimID(goal), agent)
		return err == nil && g.State == blackboard.GrantRunning
	})
}

// logged waits until a unit's container has logged a text.
func (in *instance) logged(unit, text string) {
	in.t.Helper()
	eventually(in.t, 20*time.Second, fmt.Sprintf("%q in the log of %s", text, unit), func() bool {
		out, err := dockerSays("logs", in.container(unit))
		return err == nil && strings.Contains(out, text)
	})
}

// leave is where tools look for leave to go on: seen from the workspace, and no part
// of its tree.
const leave = ".git/leave"

// waits is a tool's wait for leave, by the goal's payload.
const waits = `
echo "last words of $SETT_TARGET_PAYLOAD" >&2
until [ -e .git/leave ] || [ -e ".git/leave-$SETT_TARGET_PAYLOAD" ]; do sleep 0.05; done
`

// allow lets the tools of a goal go on; all of them for "".
func (in *instance) allow(payload string) {
	in.t.Helper()
	path := filepath.Join(in.repo, leave)
	if payload != "" {
		path += "-" + payload
	}
	file(in.t, path, "\n", 0o644)
}

// starts returns how often grants of a goal's claims began to be worked on, by
// claim and agent.
func (in *instance) starts(goal string) map[string]int {
	in.t.Helper()
	counts := map[string]int{}
	for after := "0-0"; ; {
		events, err := in.board.History(context.Background(), after, 500)
		if err != nil {
			in.t.Fatal(err)
		}
		if len(events) == 0 {
			return counts
		}
		for _, e := range events {
			if e.Kind == blackboard.EventStart && e.Workflow == goal {
				counts[e.Claim+" "+e.Agent]++
			}
		}
		after = events[len(events)-1].ID
	}
}

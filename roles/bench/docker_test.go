//go:build bench

package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/blackboard/redis"
	"sett/blackboard/redis/redistest"
	"sett/runtime"
	"sett/runtime/docker/engine"
)

// baseImage is what agents are made of.
const baseImage = "sett-base:local"

// answers is a tool that says when it began, in nanoseconds since the epoch, which
// no shell's own commands do everywhere. It ends when it is allowed to.
const answers = `package main

import ("fmt"; "io"; "os"; "time")

func main() {
	at := time.Now()
	io.Copy(io.Discard, os.Stdin)
	for _, err := os.Stat("hold"); err == nil; _, err = os.Stat("hold") { time.Sleep(5 * time.Millisecond) }
	fmt.Printf("{\"structural_type\":\"Standard\",\"artefact_type\":\"Done\",\"artefact_payload\":\"%d\",\"summary\":\"\"}", at.UnixNano())
}
`

// labelBench marks the containers, volumes and networks that the floor makes.
const labelBench = "sett.bench"

// rig is what measurements in containers share: a sett of its own, whose images and
// volumes nobody else has.
type rig struct {
	tb      testing.TB
	id      string
	sett    string
	tool    string // answers, static
	version string
	socket  string       // of the engine; empty: it has none here
	latest  string       // what sett:latest was before
	n       int          // instances so far
	engine  *http.Client // speaks to the socket; nil: nobody needed it yet
}

// newRig skips the measurement where there is no engine.
func newRig(tb testing.TB) *rig {
	tb.Helper()
	if why := redistest.NoDocker(); why != "" {
		tb.Skip(why)
	}
	at, err := engine.Find(os.LookupEnv)
	if err != nil {
		tb.Skip(redistest.Unreached(err))
	}
	r := &rig{tb: tb, id: strings.ToLower(rand.Text()[:8]), sett: filepath.Join(tb.TempDir(), "sett"), socket: at.Socket}
	r.version = "bench-" + r.id
	if out, err := exec.Command("../../testdata/images/images.sh").CombinedOutput(); err != nil {
		tb.Fatalf("make images: %v\n%s", err, out)
	}
	r.tool = filepath.Join(filepath.Dir(r.sett), "tool")
	if err := os.WriteFile(r.tool+".go", []byte(answers), 0o600); err != nil {
		tb.Fatal(err)
	}
	r.build(r.tool, r.tool+".go")
	r.build(r.sett, "sett")
	r.latest, _ = dockerSays("image", "ls", "--quiet", "--no-trunc", "sett:latest")
	tb.Cleanup(r.clear)
	return r
}

// build builds a program as containers need it: from one file.
func (r *rig) build(to, what string) {
	r.tb.Helper()
	build := exec.Command("go", "build", "-ldflags", "-s -w -X main.version="+r.version, "-o", to, what)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		r.tb.Fatalf("build %s: %v\n%s", what, err, out)
	}
}

// dockerSays runs the engine's own client.
func dockerSays(args ...string) (string, error) {
	out, err := exec.Command("docker", args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return text, fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, text)
	}
	return text, nil
}

// docker runs the engine's own client, which has to succeed.
func (r *rig) docker(args ...string) string {
	r.tb.Helper()
	out, err := dockerSays(args...)
	if err != nil {
		r.tb.Fatal(err)
	}
	return out
}

// clear removes what is left of the floor and of the rig's own sett.
func (r *rig) clear() {
	tidy := func(args ...string) {
		if _, err := dockerSays(args...); err != nil {
			r.tb.Error(err)
		}
	}
	for _, kind := range []struct{ list, remove []string }{
		{[]string{"ps", "--all"}, []string{"rm", "--force"}},
		{[]string{"network", "ls"}, []string{"network", "rm"}},
		{[]string{"volume", "ls"}, []string{"volume", "rm"}},
	} {
		ours, err := dockerSays(append(kind.list, "--quiet", "--filter", "label="+labelBench+"="+r.id)...)
		if err != nil {
			r.tb.Error(err)
		}
		for _, what := range strings.Fields(ours) {
			tidy(append(kind.remove, what)...)
		}
	}
	images, err := dockerSays("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", "--filter", "reference=sett:"+r.version+"-*")
	if err != nil {
		r.tb.Error(err)
	}
	for _, image := range strings.Fields(images) {
		digest := image[strings.LastIndex(image, "-")+1:]
		volumes, _ := dockerSays("volume", "ls", "--quiet", "--filter", "name=sett-bin-"+digest)
		for _, volume := range strings.Fields(volumes) {
			tidy("volume", "rm", volume)
		}
		r.giveBack(image)
		tidy("image", "rm", image)
	}
}

// giveBack makes sett:latest what it was, unless somebody else has taken it since.
func (r *rig) giveBack(image string) {
	ours, _ := dockerSays("image", "inspect", "--format", "{{.Id}}", image)
	if now, err := dockerSays("image", "inspect", "--format", "{{.Id}}", "sett:latest"); err != nil || now != ours {
		return
	}
	if _, err := dockerSays("tag", r.latest, "sett:latest"); err != nil { // there was none, or it is gone
		if _, err := dockerSays("image", "rm", "sett:latest"); err != nil {
			r.tb.Error(err)
		}
	}
}

// box is an instance in containers.
type box struct {
	*rig
	name, root, repo string
}

// newBox makes the workspace of an instance: so many agents of the same tool, the
// first of which works on goals.
func (r *rig) newBox(agents int, more string) *box {
	r.tb.Helper()
	r.n++
	b := &box{rig: r, name: fmt.Sprintf("bench-%s-%d", r.id, r.n), root: r.tb.TempDir()}
	b.repo = filepath.Join(b.root, "work")
	var y strings.Builder
	y.WriteString("version: \"1.0\"\nruntime: docker\nagents:\n")
	for i := range agents {
		goal := "GoalDefined"
		if i > 0 {
			goal = "Nothing"
		}
		fmt.Fprintf(&y, "  %s:\n    image: %s\n    command: [./tool]\n    workspace: {mode: none}\n    bids: {%s: exclusive}\n%s", agentName(i), baseImage, goal, more)
	}
	tool, err := os.ReadFile(r.tool)
	if err != nil {
		r.tb.Fatal(err)
	}
	for path, text := range map[string]string{"work/sett.yml": y.String(), "work/tool": string(tool), "home/none": ""} {
		path = filepath.Join(b.root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			r.tb.Fatal(err)
		}
	}
	r.tb.Cleanup(b.down)
	return b
}

func agentName(i int) string { return fmt.Sprintf("a%d", i+1) }

// run runs a sett command and returns how long it took.
func (b *box) run(args ...string) (took time.Duration, err error) {
	cmd := exec.Command(b.sett, args...)
	cmd.Dir = b.repo
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(b.root, "home"), "XDG_STATE_HOME="+filepath.Join(b.root, "state"),
		"SETT_INSTANCE="+b.name)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if took = time.Since(began); err != nil {
		return took, fmt.Errorf("sett %v: %w\n%s", args, err, out)
	}
	return took, nil
}

func (b *box) up() time.Duration {
	b.tb.Helper()
	took, err := b.run("up")
	if err != nil {
		b.tb.Fatal(err)
	}
	return took
}

// down leaves nothing of the instance. It is not --purge, which looks after
// everybody's images, too.
func (b *box) down() {
	label := "label=" + runtime.LabelInstance + "=" + b.name
	if left, err := dockerSays("ps", "--all", "--quiet", "--filter", label); err == nil && left != "" {
		if _, err := b.run("down"); err != nil {
			b.tb.Error(err)
		}
	}
	volumes, err := dockerSays("volume", "ls", "--quiet", "--filter", label)
	if err == nil && volumes != "" {
		_, err = dockerSays(append([]string{"volume", "rm"}, strings.Fields(volumes)...)...)
	}
	if err != nil {
		b.tb.Error(err)
	}
}

// container is the engine's name for a unit.
func (b *box) container(unit string) string { return "sett-" + b.name + "." + unit }

// clan connects to the instance's blackboard.
func (b *box) clan() *clan {
	b.tb.Helper()
	var state struct{ URL string }
	raw, err := os.ReadFile(filepath.Join(b.root, "state", "sett", b.name, "instance.json"))
	if err == nil {
		err = json.Unmarshal(raw, &state)
	}
	if err != nil {
		b.tb.Fatal(err)
	}
	board, err := redis.Open(context.Background(), redis.Options{URL: state.URL, Instance: b.name, Name: "bench"})
	if err != nil {
		b.tb.Fatal(err)
	}
	b.tb.Cleanup(board.Close)
	return &clan{board: board, url: state.URL}
}

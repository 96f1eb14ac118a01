package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ory/dockertest/v3"
	godocker "github.com/ory/dockertest/v3/docker"

	"sett/roles/cli/deploy"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/runtime/docker/engine"
	"sett/runtime/docker/image"
)

// planOf returns the plan of an up.
func planOf(t *testing.T, e role.Env, args ...string) deploy.Plan {
	t.Helper()
	out, err := invoke(context.Background(), e, append([]string{"up", "--dry-run", "-o", "json"}, args...)...)
	var p deploy.Plan
	if err == nil {
		err = json.Unmarshal([]byte(out), &p)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return p
}

// becomes is what a plan says of each part, sorted.
func becomes(p deploy.Plan) []string {
	var all []string
	for _, part := range p.Parts {
		all = append(all, part.Part+" "+part.Action)
	}
	slices.Sort(all)
	return all
}

// left are the parts that there are when the plan was carried out.
func remaining(p deploy.Plan) []string {
	var all []string
	for _, part := range p.Parts {
		if part.Action != deploy.PartStop {
			all = append(all, part.Part)
		}
	}
	slices.Sort(all)
	return all
}

// tree is every file below a directory, with the time of its last change.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		all = append(all, path+" "+info.ModTime().String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func rewrite(t *testing.T, e role.Env, yml string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(e.Args[1], instance.ConfigName), []byte(yml), 0o600); err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// TestDryRunProcesses: what is announced is what comes, and until then nothing does.
func TestDryRunProcesses(t *testing.T) {
	e, dir := workspace(t)
	home := e.Getenv("HOME")
	before := tree(t, home)
	p := planOf(t, e)
	equal(t, "files", tree(t, home), before)
	if p.Action != deploy.ActionCreate || p.Runtime != "process" || p.Instance != "clan" || p.Blackboard != (deploy.PlannedBoard{Kind: "embedded"}) {
		t.Errorf("%+v", p)
	}
	equal(t, "parts", becomes(p), []string{"agent-one start", "blackboard start", "keeper start", "orchestrator start", "repository start"})
	up := func() {
		t.Helper()
		if _, err := invoke(context.Background(), e, "up"); err != nil {
			t.Fatal(err)
		}
	}
	up()
	equal(t, "units", runningUnits(t, dir), remaining(p))

	// Of a running instance nothing changes, and then what sett.yml says.
	p = planOf(t, e)
	equal(t, "parts", becomes(p), []string{"agent-one keep", "blackboard keep", "keeper keep", "orchestrator keep", "repository keep"})
	if !p.Idle() || !strings.HasPrefix(p.Blackboard.Address, "127.0.0.1:") {
		t.Errorf("%+v", p)
	}
	rewrite(t, e, "runtime: process\nagents:\n  one:\n    command: [/bin/cat]\n    timeout: 3m\n  two:\n    command: [/bin/cat]\n  three:\n    command: [no/such]\n")
	ids := unitIDs(t, dir)
	p = planOf(t, e)
	equal(t, "parts", becomes(p), []string{"agent-one restart", "agent-three start", "agent-two start", "blackboard keep", "keeper keep", "orchestrator keep", "repository keep"})
	equal(t, "added", p.Changes.Added, []string{"three", "two"})
	equal(t, "changed", p.Changes.Changed, []string{"one"})
	if len(p.Notices) != 1 || !strings.HasPrefix(p.Notices[0], "warning: agent three: no/such cannot be run") {
		t.Errorf("notices %q", p.Notices)
	}
	equal(t, "what runs", unitIDs(t, dir), ids)
	up()
	equal(t, "units", runningUnits(t, dir), remaining(p))
	for _, id := range unitIDs(t, dir) {
		part, _, _ := strings.Cut(id, " ")
		kept := slices.Contains(becomes(p), part+" "+deploy.PartKeep)
		if kept != slices.Contains(ids, id) {
			t.Errorf("%s was to be kept: %v; before %q", id, kept, ids)
		}
	}

	rewrite(t, e, "runtime: process\nagents:\n  two:\n    command: [/bin/cat]\n")
	p = planOf(t, e)
	equal(t, "parts", becomes(p), []string{"agent-one stop", "agent-three stop", "agent-two keep", "blackboard keep", "keeper keep", "orchestrator keep", "repository keep"})
	up()
	equal(t, "units", runningUnits(t, dir), remaining(p))
	if _, err := invoke(context.Background(), e, "down"); err != nil {
		t.Fatal(err)
	}
	address := p.Blackboard.Address
	if p = planOf(t, e); p.Action != deploy.ActionStart || p.Blackboard.Address != address {
		t.Errorf("stopped: %+v", p)
	}
}

// unitIDs are the running units with their process ids.
func unitIDs(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	for _, name := range runningUnits(t, dir) {
		var rec struct{ PID int }
		if err := instance.ReadFile(filepath.Join(dir, "units", name+".json"), &rec); err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(name, " ", rec.PID))
	}
	return all
}

// engineImages are the ids of all images with their names.
func engineImages(t *testing.T) []string {
	t.Helper()
	pool, err := dockertest.NewPool("")
	if err != nil {
		t.Fatal(err)
	}
	list, err := pool.Client.ListImages(godocker.ListImagesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, i := range list {
		for _, tag := range i.RepoTags {
			if !strings.Contains(tag, "sett-cli-") && !strings.HasPrefix(tag, "sett:"+testVersion) {
				continue // of tests beside this one
			}
			all = append(all, tag)
		}
	}
	slices.Sort(all)
	return all
}

// TestDryRunContainers is TestDryRunProcesses where agents are containers: the plan
// names what the engine has afterwards.
func TestDryRunContainers(t *testing.T) {
	t.Parallel()
	e, engine, name, dir := containerWorkspace(t)
	yml := "agents:\n  one:\n    image: sett-base:local\n    command: [/bin/cat]\n  two:\n    build: .\n    command: [/bin/cat]\n    network: none\n"
	rewrite(t, e, yml)
	dockerfile := []byte("FROM sett-base:local\nENV A=" + name + "\n")
	if err := os.WriteFile(filepath.Join(e.Args[1], "Dockerfile"), dockerfile, 0o600); err != nil {
		t.Fatal(err)
	}
	images := engineImages(t)
	p := planOf(t, e)
	if _, has := instanceOf(t, engine, name); has || instance.Exists(dir) {
		t.Errorf("after the dry run: on the engine %v, %s %v", has, dir, instance.Exists(dir))
	}
	equal(t, "images", engineImages(t), images)
	equal(t, "parts", becomes(p), []string{"agent-one start", "agent-two start", "blackboard start", "orchestrator start", "repository start"})
	if i := slices.IndexFunc(p.Images, func(i deploy.PlannedImage) bool { return i.For == "agent two" }); i < 0 || p.Images[i].Action != image.ActionBuild || !slices.Equal(p.Images[i].Bases, []string{"sett-base:local"}) {
		t.Errorf("images %+v", p.Images)
	}
	if _, err := invoke(context.Background(), e, "up"); err != nil {
		t.Fatal(err)
	}
	onEngine(t, engine, name, p)

	again := planOf(t, e)
	equal(t, "parts", becomes(again), []string{"agent-one keep", "agent-two keep", "blackboard keep", "orchestrator keep", "repository keep"})
	if !again.Idle() {
		t.Errorf("after the up: %+v", again)
	}
	rewrite(t, e, strings.Replace(yml, "  two:", "  three:", 1)+"    environment: {A: b}\n")
	p = planOf(t, e)
	equal(t, "parts", becomes(p), []string{"agent-one keep", "agent-three start", "agent-two stop", "blackboard keep", "orchestrator keep", "repository keep"})
	if _, err := invoke(context.Background(), e, "up"); err != nil {
		t.Fatal(err)
	}
	onEngine(t, engine, name, p)
	if _, err := invoke(context.Background(), e, "down", "--purge", "--yes"); err != nil {
		t.Error(err)
	}
}

// onEngine compares what a plan left with what the engine has.
func onEngine(t *testing.T, engine *engine.Engine, name string, p deploy.Plan) {
	t.Helper()
	in, _ := instanceOf(t, engine, name)
	var units []string
	for _, u := range in.Units {
		units = append(units, u.Name)
	}
	equal(t, "containers", units, remaining(p))
	pool, err := dockertest.NewPool("")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range p.Parts {
		if part.Action == deploy.PartStop {
			continue
		}
		c, err := pool.Client.InspectContainer(part.Container)
		if err != nil {
			t.Errorf("%+v: %v", part, err)
			continue
		}
		if _, on := c.NetworkSettings.Networks[part.Network]; !on {
			t.Errorf("%+v is on %v", part, c.NetworkSettings.Networks)
		}
		if image, err := pool.Client.InspectImage(part.Image); err != nil || image.ID != c.Image {
			t.Errorf("%+v is of image %s: %v", part, c.Image, err)
		}
	}
	for _, n := range p.Networks {
		if has, err := engine.HasNetwork(t.Context(), n.Name); !has {
			t.Errorf("network %s: %v", n.Name, err)
		}
	}
	for _, v := range p.Volumes {
		if has, err := engine.HasVolume(t.Context(), v.Name); !has {
			t.Errorf("volume %s: %v", v.Name, err)
		}
	}
}

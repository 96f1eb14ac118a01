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

	"sett/roles/role"
	"sett/runtime/docker"
)

// dryRun returns the plan of an up.
func dryRun(t *testing.T, e role.Env, args ...string) plan {
	t.Helper()
	out, err := invoke(context.Background(), e, append([]string{"up", "--dry-run", "-o", "json"}, args...)...)
	var p plan
	if err == nil {
		err = json.Unmarshal([]byte(out), &p)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return p
}

// becomes is what a plan says of each part, sorted.
func (p plan) becomes() []string {
	var all []string
	for _, part := range p.Parts {
		all = append(all, part.Part+" "+part.Action)
	}
	slices.Sort(all)
	return all
}

// left are the parts that there are when the plan was carried out.
func (p plan) left() []string {
	var all []string
	for _, part := range p.Parts {
		if part.Action != partStop {
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
	if err := os.WriteFile(filepath.Join(e.Args[1], configName), []byte(yml), 0o600); err != nil {
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
	p := dryRun(t, e)
	equal(t, "files", tree(t, home), before)
	if p.Action != actionCreate || p.Runtime != "process" || p.Instance != "clan" || p.Blackboard != (plannedBoard{Kind: "embedded"}) {
		t.Errorf("%+v", p)
	}
	equal(t, "parts", p.becomes(), []string{"agent-one start", "blackboard start", "keeper start", "orchestrator start"})
	up := func() {
		t.Helper()
		if _, err := invoke(context.Background(), e, "up"); err != nil {
			t.Fatal(err)
		}
	}
	up()
	equal(t, "units", runningUnits(t, dir), p.left())

	// Of a running instance nothing changes, and then what sett.yml says.
	p = dryRun(t, e)
	equal(t, "parts", p.becomes(), []string{"agent-one keep", "blackboard keep", "keeper keep", "orchestrator keep"})
	if p.Action != actionApply || !strings.HasPrefix(p.Blackboard.Address, "127.0.0.1:") {
		t.Errorf("%+v", p)
	}
	rewrite(t, e, "runtime: process\nagents:\n  one:\n    command: [/bin/cat]\n    timeout: 3m\n  two:\n    command: [/bin/cat]\n  three:\n    command: [no/such]\n")
	ids := unitIDs(t, dir)
	p = dryRun(t, e)
	equal(t, "parts", p.becomes(), []string{"agent-one restart", "agent-three start", "agent-two start", "blackboard keep", "keeper keep", "orchestrator keep"})
	equal(t, "added", p.Changes.Added, []string{"three", "two"})
	equal(t, "changed", p.Changes.Changed, []string{"one"})
	if len(p.Notices) != 1 || !strings.HasPrefix(p.Notices[0], "warning: agent three: no/such cannot be run") {
		t.Errorf("notices %q", p.Notices)
	}
	equal(t, "what runs", unitIDs(t, dir), ids)
	up()
	equal(t, "units", runningUnits(t, dir), p.left())
	for _, id := range unitIDs(t, dir) {
		part, _, _ := strings.Cut(id, " ")
		kept := slices.Contains(p.becomes(), part+" "+partKeep)
		if kept != slices.Contains(ids, id) {
			t.Errorf("%s was to be kept: %v; before %q", id, kept, ids)
		}
	}

	rewrite(t, e, "runtime: process\nagents:\n  two:\n    command: [/bin/cat]\n")
	p = dryRun(t, e)
	equal(t, "parts", p.becomes(), []string{"agent-one stop", "agent-three stop", "agent-two keep", "blackboard keep", "keeper keep", "orchestrator keep"})
	up()
	equal(t, "units", runningUnits(t, dir), p.left())
	if _, err := invoke(context.Background(), e, "down"); err != nil {
		t.Fatal(err)
	}
	address := p.Blackboard.Address
	if p = dryRun(t, e); p.Action != actionStart || p.Blackboard.Address != address {
		t.Errorf("stopped: %+v", p)
	}
}

// unitIDs are the running units with their process ids.
func unitIDs(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	for _, name := range runningUnits(t, dir) {
		var rec struct{ PID int }
		if err := readFile(filepath.Join(dir, "units", name+".json"), &rec); err != nil {
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
	e, engine, name, dir := containerWorkspace(t)
	yml := "agents:\n  one:\n    image: sett-base:local\n    command: [/bin/cat]\n  two:\n    build: .\n    command: [/bin/cat]\n    network: none\n"
	rewrite(t, e, yml)
	dockerfile := []byte("FROM sett-base:local\nENV A=" + name + "\n")
	if err := os.WriteFile(filepath.Join(e.Args[1], "Dockerfile"), dockerfile, 0o600); err != nil {
		t.Fatal(err)
	}
	images := engineImages(t)
	p := dryRun(t, e)
	if _, has := instanceOf(t, engine, name); has || exists(dir) {
		t.Errorf("after the dry run: on the engine %v, %s %v", has, dir, exists(dir))
	}
	equal(t, "images", engineImages(t), images)
	equal(t, "parts", p.becomes(), []string{"agent-one start", "agent-two start", "blackboard start", "orchestrator start"})
	if i := slices.IndexFunc(p.Images, func(i plannedImage) bool { return i.For == "agent two" }); i < 0 || p.Images[i].Action != docker.ActionBuild || !slices.Equal(p.Images[i].Bases, []string{"sett-base:local"}) {
		t.Errorf("images %+v", p.Images)
	}
	if _, err := invoke(context.Background(), e, "up"); err != nil {
		t.Fatal(err)
	}
	onEngine(t, engine, name, p)

	again := dryRun(t, e)
	equal(t, "parts", again.becomes(), []string{"agent-one keep", "agent-two keep", "blackboard keep", "orchestrator keep"})
	for _, thing := range slices.Concat(again.Networks, again.Volumes) {
		if thing.Action != docker.ActionPresent {
			t.Errorf("after the up: %+v", thing)
		}
	}
	rewrite(t, e, strings.Replace(yml, "  two:", "  three:", 1)+"    environment: {A: b}\n")
	p = dryRun(t, e)
	equal(t, "parts", p.becomes(), []string{"agent-one keep", "agent-three start", "agent-two stop", "blackboard keep", "orchestrator keep"})
	if _, err := invoke(context.Background(), e, "up"); err != nil {
		t.Fatal(err)
	}
	onEngine(t, engine, name, p)
	if _, err := invoke(context.Background(), e, "down", "--purge", "--yes"); err != nil {
		t.Error(err)
	}
}

// onEngine compares what a plan left with what the engine has.
func onEngine(t *testing.T, engine *docker.Engine, name string, p plan) {
	t.Helper()
	in, _ := instanceOf(t, engine, name)
	var units []string
	for _, u := range in.Units {
		units = append(units, u.Name)
	}
	equal(t, "containers", units, p.left())
	pool, err := dockertest.NewPool("")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range p.Parts {
		if part.Action == partStop {
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
		if has, err := engine.Preview().HasNetwork(t.Context(), n.Name); !has {
			t.Errorf("network %s: %v", n.Name, err)
		}
	}
	for _, v := range p.Volumes {
		if has, err := engine.Preview().HasVolume(t.Context(), v.Name); !has {
			t.Errorf("volume %s: %v", v.Name, err)
		}
	}
}

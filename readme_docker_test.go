package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"sett/blackboard/redis/redistest"
)

// What the README's images are based on, and what stands in for that where no
// registry answers: the image that testdata/images makes has git already.
const (
	alpine = "alpine:3.20"
	noGit  = "FROM " + alpine + "\nRUN apk add --no-cache git\n"
	asIs   = "image: " + alpine + "\n"
)

// withContainers is a place with a container engine. The test is skipped where
// there is none. The names of images that the README's commands take are given back.
func withContainers(t *testing.T) place {
	t.Helper()
	if why := redistest.NoDocker(); why != "" {
		t.Skip(why)
	}
	if out, err := exec.Command("testdata/images/images.sh").CombinedOutput(); err != nil {
		t.Fatalf("make images: %v\n%s", err, out)
	}
	out, err := exec.Command("testdata/images/images.sh", "base").Output()
	if err != nil {
		t.Fatalf("make images: %v", err)
	}
	at := place{containers: true, edit: strings.NewReplacer(), patience: 5 * time.Minute} // images may have to be pulled
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "DOCKER_") || strings.HasPrefix(v, "XDG_RUNTIME_DIR=") {
			at.env = append(at.env, v)
		}
	}
	if base := strings.TrimSpace(string(out)); base != alpine {
		at.edit = strings.NewReplacer(noGit, "FROM "+base+"\n", "FROM "+alpine, "FROM "+base,
			asIs, "image: "+base+"\n", "docker build ", "docker build --build-arg BASE="+base+" ")
		at.prelude = fmt.Sprintf(`sett() {
	command sett "$@" || return
	[ "$1" != init ] || {
		sed 's|# args: {BASE: "debian:12-slim"}|args: {BASE: "%s"}|' sett.yml >new.yml && mv new.yml sett.yml &&
			git commit --quiet --all -m "Build on an image that is here"
	}
}
`, base)
	}
	t.Cleanup(func() { forget(t) }) // after the names that it would leave images without
	giveBack(t, "sett:latest", "sett:"+version)
	return at
}

// engineSays runs the engine's own client.
func engineSays(args ...string) (string, error) {
	out, err := exec.Command("docker", args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return text, fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, text)
	}
	return text, nil
}

func engineMust(t *testing.T, args ...string) string {
	t.Helper()
	out, err := engineSays(args...)
	if err != nil {
		t.Error(err)
	}
	return out
}

// giveBack sees to it that an image's name means after the test what it meant
// before, unless somebody else took it meanwhile: an image that is the test's has
// the other name as well.
func giveBack(t *testing.T, name, other string) {
	t.Helper()
	before := engineMust(t, "image", "ls", "--quiet", "--no-trunc", name)
	t.Cleanup(func() {
		tags, err := engineSays("image", "inspect", "--format", "{{.Id}} {{.RepoTags}}", name)
		if err != nil || before != "" && strings.HasPrefix(tags, before) || !strings.Contains(tags, other) {
			return
		}
		engineMust(t, "image", "rm", name)
		if _, err := engineSays("image", "inspect", before); err == nil { // it may be gone: nothing ran it
			engineMust(t, "tag", before, name)
		}
	})
}

// forget removes what sett keeps on the engine for its next start.
func forget(t *testing.T) {
	t.Helper()
	ours := engineMust(t, "image", "ls", "--format", "{{.Repository}}:{{.Tag}}", "--filter", "reference=sett:"+version+"-*")
	for _, image := range strings.Fields(ours) {
		digest := image[strings.LastIndexByte(image, '-')+1:]
		for _, volume := range strings.Fields(engineMust(t, "volume", "ls", "--quiet", "--filter", "name=sett-bin-"+digest)) {
			engineMust(t, "volume", "rm", volume)
		}
		engineMust(t, "image", "rm", image)
	}
}

// build builds the image of a block, and starts sett in it as its entrypoint.
func (s *session) build(t *testing.T, b block) {
	t.Helper()
	if !s.place.containers {
		return
	}
	image := "sett-" + version + ":test"
	build := exec.Command("docker", "build", "--quiet", "--force-rm", "--tag", image, "-")
	build.Stdin = strings.NewReader(s.place.edit.Replace(b.text))
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", b.at(0), err, out)
		return
	}
	defer engineMust(t, "image", "rm", image)
	// Which sett it is, who starts an instance at the same time decides: sett:latest is one name.
	if out := engineMust(t, "run", "--rm", image, "version"); !strings.HasPrefix(out, "sett ") {
		t.Errorf("%s: sett version says %q there", b.at(0), out)
	}
}

// checkNames looks on the engine for what the README says is there.
func (p *book) checkNames(t *testing.T, instance string) {
	t.Helper()
	looked := 0
	for _, row := range rows(p.section(t, "Containers")) {
		name := strings.NewReplacer("NAME", instance, "AGENT", "note").Replace(codes(row[1])[0])
		engineMust(t, "inspect", name)
		looked++
	}
	if looked < 6 {
		t.Errorf("a page names %d things on the engine", looked)
	}
	ports := engineMust(t, "ps", "--filter", "name=^sett-"+instance+"\\.", "--format", "{{.Names}} {{.Ports}}")
	for line := range strings.Lines(ports) {
		name, published, _ := strings.Cut(strings.TrimSpace(line), " ")
		served := name == "sett-"+instance+".blackboard" || name == "sett-"+instance+".orchestrator"
		if served != strings.HasPrefix(published, "127.0.0.1:") || !served && strings.Contains(published, "->") {
			t.Errorf("%s publishes %q", name, published)
		}
	}
}

// containerFacts are the limits of containers and the places of engines as the code
// has them, in the README's words.
func containerFacts(t *testing.T) []string {
	t.Helper()
	var facts []string
	limits := sources(t, "roles/role/container/container.go", "runtime/docker/spec.go")
	for _, f := range []struct{ code, says string }{
		{`CPUs += (\d+)\n`, "at most %s CPUs"}, {`Memory += (\d+) << 30\n`, "%s GiB of memory"},
		{`Pids += (\d+)\n`, "%s processes"}, {`Tmp += (\d+) << 30`, "`/tmp` of %s GiB"},
		{`logFiles += "(\d+)"`, "at most %s files"}, {`logSize += "(\d+)m"`, "files of %s MB"},
	} {
		m := regexp.MustCompile(f.code).FindStringSubmatch(limits)
		if m == nil {
			t.Errorf("no %s in the code", f.code)
			continue
		}
		facts = append(facts, fmt.Sprintf(f.says, m[1]))
	}
	for _, m := range regexp.MustCompile(`"([\w./]*/[\w./]*\.sock)"`).FindAllStringSubmatch(sources(t, "runtime/docker/engine/context.go"), -1) {
		facts = append(facts, m[1])
	}
	return append(facts, "$XDG_RUNTIME_DIR/docker.sock")
}

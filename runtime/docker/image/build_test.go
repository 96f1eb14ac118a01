package image

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"

	"sett/runtime"

	"sett/runtime/docker/engine"
)

// builder builds for an instance of its own, on an image that holds the test's unit.
type builder struct {
	*Store
	t        *testing.T
	instance string
	base     Image
}

// want is an image of the builder's own instance.
func (b *builder) want(agent, context string) Want {
	return Want{Name: "agent " + agent, Ref: "sett-" + b.instance + ".agent-" + agent,
		Build:  &Build{Context: context, Args: map[string]string{"BASE": b.base.Ref}},
		Labels: runtime.Labels{runtime.LabelInstance: b.instance, runtime.LabelAgent: agent, runtime.LabelStarted: "now"}}
}

// newBuilder returns a builder whose images are gone when the test ends.
func newBuilder(t *testing.T) *builder {
	s := ownControl(t)
	b := &builder{s, t, newInstance(), control(t, s, executable(t))}
	t.Cleanup(func() {
		if err := b.Purge(context.Background(), b.instance, "", time.Now()); err != nil {
			t.Error(err)
		}
		list, err := b.api.ImageList(context.Background(), image.ListOptions{All: true})
		if err != nil {
			t.Error(err)
		}
		for _, i := range list {
			// All that is built here begins with the one image.
			if i.ParentID == b.base.ID || i.Labels[runtime.LabelInstance] == b.instance {
				t.Errorf("after purge there is %s %v", i.ID, i.Labels)
			}
		}
	})
	return b
}

const stages = `ARG BASE=nothing
FROM ${BASE} AS first
COPY text /from/first
FROM ${BASE}
COPY --from=first /from/first /text
COPY . /all
RUN ["/sett", "exit", "0"]
ENTRYPOINT ["/sett"]
`

func TestBuild(t *testing.T) {
	b := newBuilder(t)
	dir := folder(t, map[string]string{"Dockerfile": stages, ".dockerignore": "secret\n", "text": "one", "secret": "x"})
	w := b.want("a", dir)
	build := func() (Image, lines) {
		t.Helper()
		var said lines
		got, err := b.Images(t.Context(), []Want{w}, said.progress)
		if err != nil {
			t.Fatal(err)
		}
		return got[w.Name], said
	}
	first, said := build()
	want := lines{"building " + w.Ref + ":latest", "step 3/8: COPY text /from/first", "step 5/8: COPY --from=first /from/first /text",
		"step 6/8: COPY . /all", `step 7/8: RUN ["/sett", "exit", "0"]`, `step 8/8: ENTRYPOINT ["/sett"]`, "built " + w.Ref + ":latest"}
	for i := range want {
		want[i] = "agent a: " + want[i]
	}
	if !slices.Equal(said, want) {
		t.Errorf("said\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	_, got, err := b.image(t.Context(), first.ID)
	if l := imageLabels(got); err != nil || l[runtime.LabelInstance] != b.instance || l[runtime.LabelAgent] != "a" || l[runtime.LabelStarted] != "" {
		t.Errorf("labels %v, %v", l, err)
	}
	if names := b.inImage(first.ID, "/all"); !slices.Equal(names, []string{"all", "all/.dockerignore", "all/Dockerfile", "all/text"}) {
		t.Errorf("it has %v", names)
	}
	w.Labels[runtime.LabelStarted] = "later"
	if again, said := build(); again.ID != first.ID || len(said) > 0 {
		t.Errorf("the second time %v, %q", again, said)
	}
	if err := os.WriteFile(filepath.Join(dir, "text"), []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	second, _ := build()
	if second.ID == first.ID {
		t.Error("it is as it was")
	}
	if _, _, err := b.image(t.Context(), first.ID); err == nil {
		t.Error("the image before is still there")
	}
}

// inImage lists the files of an image below a directory.
func (b *builder) inImage(id, dir string) []string {
	b.t.Helper()
	c, err := b.api.ContainerCreate(b.t.Context(), &container.Config{Image: id, Labels: map[string]string{runtime.LabelComponent: ComponentBinary}}, nil, nil, nil, "")
	if err != nil {
		b.t.Fatal(err)
	}
	defer b.api.ContainerRemove(context.Background(), c.ID, container.RemoveOptions{Force: true})
	rc, _, err := b.api.CopyFromContainer(b.t.Context(), c.ID, dir)
	if err != nil {
		b.t.Fatal(err)
	}
	defer rc.Close()
	var names []string
	for r := tar.NewReader(rc); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(names)
			return names
		}
		if err != nil {
			b.t.Fatal(err)
		}
		names = append(names, strings.TrimSuffix(h.Name, "/"))
	}
}

var failing = []struct {
	name, dockerfile string
	fault            Fault
	want             []string
}{
	{"a command", "ARG BASE\nFROM $BASE\nENV A=b\nRUN [\"/sett\", \"exit\", \"3\"]\n", FaultStep, []string{`build failed at step 4/4, RUN ["/sett", "exit", "3"]: exit code 3`, "\n  | last words"}},
	{"a file", "ARG BASE\nFROM $BASE\nCOPY gone /\n", FaultStep, []string{"step 3/3, COPY gone /: ", "gone"}},
	{"an instruction", "ARG BASE\nFROM $BASE\nFROM $BASE\n\nRUNE x\n", FaultDockerfile, []string{"line 5", "RUNE"}},
	{"a base", "FROM 127.0.0.1:1/gone:1\n", FaultBase, []string{"step 1/1, FROM 127.0.0.1:1/gone:1: registry 127.0.0.1:1 cannot be reached"}},
	{"a base by argument", "ARG HOST=127.0.0.1:1 NAME\nFROM ${HOST}/${NAME:-gone}:1\n", FaultBase, []string{"step 2/2, FROM 127.0.0.1:1/gone:1: registry 127.0.0.1:1 cannot be reached"}},
	{"nothing", "# empty\n", FaultFiles, []string{"/Dockerfile is empty"}},
	{"a mount", "ARG BASE\nFROM $BASE\nRUN --mount=type=cache,target=/x true\n", FaultBuildKit, []string{"--mount"}},
	{"a new option", "ARG BASE\nFROM $BASE\nCOPY --link . /x\n", FaultBuildKit, []string{"line 3", "link"}},
	{"a text within", "ARG BASE\nFROM $BASE\nRUN <<-\"EOF\"\n\ttrue\nEOF\n", FaultBuildKit, []string{"line 4"}},
}

func TestBuildFails(t *testing.T) {
	b := newBuilder(t)
	var wants []Want
	for _, tt := range failing {
		wants = append(wants, b.want(strings.ReplaceAll(tt.name, " ", "-"), folder(t, map[string]string{"Dockerfile": tt.dockerfile})))
	}
	_, err := b.Images(t.Context(), wants, nil)
	var missing *MissingError
	if !errors.As(err, &missing) || len(missing.Images) != len(failing) {
		t.Fatal(err)
	}
	for i, tt := range failing {
		if got := missing.Images[i].Fault; got != tt.fault {
			t.Errorf("%s: fault %d, want %d", tt.name, got, tt.fault)
		}
		for _, w := range tt.want {
			if !strings.Contains(missing.Images[i].Reason, w) {
				t.Errorf("%s: %q is not in\n%s", tt.name, w, missing.Images[i].Reason)
			}
		}
	}
}

func TestBuildInterrupted(t *testing.T) {
	b := newBuilder(t)
	w := b.want("a", folder(t, map[string]string{"Dockerfile": "ARG BASE\nFROM $BASE\nRUN [\"/sett\", \"stubborn\"]\n"}))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := b.Images(ctx, []Want{w}, func(_, line string) {
		if strings.Contains(line, "stubborn") {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for late := time.After(deadline); ; {
		list, err := b.api.ContainerList(t.Context(), container.ListOptions{All: true, Filters: engine.Labelled(runtime.LabelInstance + "=" + b.instance)})
		if err == nil && len(list) == 0 {
			break
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-late:
			t.Fatal("the step's container is still there")
		}
	}
}

// An image that somebody made from one of ours has its labels, and is not ours.
func TestPurgeSparesOthersImages(t *testing.T) {
	b := newBuilder(t)
	w := b.want("a", folder(t, map[string]string{"Dockerfile": "ARG BASE\nFROM $BASE\nENV A=b\n"}))
	got, err := b.Images(t.Context(), []Want{w}, nil)
	if err != nil {
		t.Fatal(err)
	}
	theirs := "sett-test-theirs-" + b.instance + ":1"
	if err := b.api.ImageTag(t.Context(), got[w.Name].ID, theirs); err != nil {
		t.Fatal(err)
	}
	if err := b.Purge(t.Context(), b.instance, "", time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.image(t.Context(), w.Ref); err == nil {
		t.Error("ours is still there")
	}
	if _, _, err := b.image(t.Context(), theirs); err != nil {
		t.Error(err)
	}
	if _, err := b.removeImage(t.Context(), theirs); err != nil {
		t.Error(err)
	}
}

// Users with the same build share an image, also when they are built at once, and a second
// time nothing is built anew; nor where builds only begin with the same steps.
func TestBuildOnce(t *testing.T) {
	b := newBuilder(t)
	const text = "ARG BASE\nFROM $BASE\nENV A=b\nCOPY text /\nRUN [\"/sett\", \"exit\", \"0\"]\n"
	same, other := folder(t, map[string]string{"Dockerfile": text, "text": "1"}), folder(t, map[string]string{"Dockerfile": text, "text": "2"})
	var wants []Want
	for _, agent := range []string{"a", "b", "c", "d"} {
		w := b.want(agent, same)
		delete(w.Labels, runtime.LabelAgent)
		wants = append(wants, w)
	}
	wants[1].Build.Context, wants[1].Build.Dockerfile = same+"/.", "./Dockerfile" // written otherwise
	wants[3].Build.Context = other
	first, err := b.Images(t.Context(), wants, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := func(agent string) string { return first["agent "+agent].ID }
	if id("a") != id("b") || id("a") != id("c") || id("a") == id("d") {
		t.Errorf("got %v", first)
	}
	var said lines
	again, err := b.Images(t.Context(), wants, said.progress)
	if err != nil || len(said) > 0 {
		t.Errorf("the second time %v, %q", err, said)
	}
	for _, w := range wants {
		if got := again[w.Name]; got.ID != first[w.Name].ID || got.Ref != w.Ref+":latest" {
			t.Errorf("%s: %s, then %v", w.Name, first[w.Name].ID, got)
		}
		if got, _, err := b.image(t.Context(), w.Ref); err != nil || got.ID != first[w.Name].ID {
			t.Errorf("%s is %v, %v", w.Ref, got, err)
		}
	}

	// One of them gets another build: the others keep theirs.
	wants[0].Build.Context = other
	if again, err = b.Images(t.Context(), wants, nil); err != nil || again["agent a"].ID != id("d") || again["agent b"].ID != id("b") {
		t.Errorf("got %v, %v", again, err)
	}

	// A build that fails is told once.
	for i := range wants[:3] {
		wants[i].Build.Dockerfile = "gone"
		wants[i].Build.Context = same
	}
	_, err = b.Images(t.Context(), wants, nil)
	if err == nil || strings.Count(err.Error(), "no such Dockerfile") != 1 || !strings.Contains(err.Error(), "agent a, agent b, agent c: ") {
		t.Errorf("got %v", err)
	}
}

// Images without an instance are found by their labels. A purge removes those of its own
// workspace, and what failed builds left, and spares another workspace's and a user's own.
func TestBuiltAlone(t *testing.T) {
	b := newBuilder(t)
	dir := folder(t, map[string]string{"Dockerfile": "ARG BASE\nFROM $BASE\nENV A=b\n"})
	of := func(agent, workspace string) Want {
		w := b.want(agent, dir)
		w.Labels[runtime.LabelWorkspace] = workspace
		return w
	}
	failing := of("c", "/one")
	failing.Build = &Build{Context: folder(t, map[string]string{"Dockerfile": "ARG BASE\nFROM $BASE\nENV C=d\nRUN [\"/sett\", \"exit\", \"3\"]\n"}), Args: failing.Build.Args}
	if _, err := b.Images(t.Context(), []Want{of("a", "/one"), of("b", "/two"), failing}, nil); err == nil {
		t.Fatal("c was built")
	}
	theirs := "sett-test-theirs-" + b.instance + ":1"
	if err := b.api.ImageTag(t.Context(), of("a", "").Ref, theirs); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.api.ImageRemove(context.Background(), theirs, image.RemoveOptions{}) })
	built := func() (all []Built) {
		t.Helper()
		list, err := b.Built(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range list {
			if of.Instance == b.instance {
				all = append(all, of)
			}
		}
		return all
	}
	if got := built(); len(got) != 2 || got[0].Workspace != "/two" || got[1].Workspace != "/one" || got[1].Images != 2 {
		t.Errorf("built %+v", got)
	}
	if err := b.Purge(t.Context(), b.instance, "/one", time.Now()); err != nil {
		t.Fatal(err)
	}
	if got, want := built(), []Built{{b.instance, "/two", 1}}; !slices.Equal(got, want) {
		t.Errorf("left %+v, want %+v", got, want)
	}
	if _, _, err := b.image(t.Context(), theirs); err != nil {
		t.Error(err)
	}
	if _, err := b.api.ImageRemove(t.Context(), theirs, image.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A preview knows without a build that one would make its image again, and knows each
// change that matters to the engine's cache.
func TestBuildForeseen(t *testing.T) {
	b := newBuilder(t)
	dir := folder(t, map[string]string{"Dockerfile": "ARG BASE\nFROM $BASE AS one\nARG V\nENV A=$V\nFROM one\nCOPY --from=one /sett /x\nADD text /\n", ".dockerignore": "out\n", "text": "1", "out": "1"})
	w := b.want("a", dir)
	up := func() {
		t.Helper()
		got, err := b.Images(t.Context(), []Want{w}, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.Before = got[w.Name].Inputs
	}
	action := func() string {
		t.Helper()
		p := b.Preview()
		if _, err := p.Images(t.Context(), []Want{w}, nil); err != nil {
			t.Fatal(err)
		}
		images, _ := p.Foreseen()
		return images[0].Action
	}
	file := filepath.Join(dir, "text")
	for _, step := range []struct {
		name, want string
		change     func() error
	}{
		{"nothing", ActionPresent, func() error { return nil }},
		{"a time", ActionPresent, func() error { return os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)) }},
		{"an ignored file", ActionPresent, func() error { return os.WriteFile(filepath.Join(dir, "out"), []byte("2"), 0o644) }},
		{"another sett up", ActionPresent, func() error { w.Labels[runtime.LabelStarted] = "later"; return nil }},
		{"content", ActionBuild, func() error { return os.WriteFile(file, []byte("2"), 0o644) }},
		{"a mode", ActionBuild, func() error { return os.Chmod(file, 0o755) }},
		{"a link", ActionBuild, func() error { return os.Symlink("text", filepath.Join(dir, "link")) }},
		{"patterns", ActionBuild, func() error { return os.WriteFile(filepath.Join(dir, ".dockerignore"), []byte("out\nlink\n"), 0o644) }},
		{"an argument", ActionBuild, func() error { w.Build.Args["V"] = "2"; return nil }},
		{"a base", ActionBuild, func() error { w.Build.Args["BASE"] = control(t, b.Store, executable(t)).Ref; return nil }},
		{"its image", ActionBuild, func() error { return b.api.ImageTag(t.Context(), w.Build.Args["BASE"], w.Ref) }},
	} {
		up()
		if w.Before == "" {
			t.Fatal("a build without inputs")
		}
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		if got := action(); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
	w.Before = ""
	if got := action(); got != ActionBuild {
		t.Errorf("unknown: %s", got)
	}
	for text, want := range map[string]bool{
		"FROM a\nADD x /\n": false, "FROM a\nADD https://h/x /\n": true, "FROM a\nARG U\nADD $U /\n": true, "FROM a\nADD git@h:x /\n": true, "FROM a\nadd \\\n  x \\\n https://h /\n": true,
		"FROM a AS b\nFROM a\nCOPY --from=B x /\nCOPY --from=0 y /\n": false, "FROM a\nCOPY --from=other:1 x /\n": true, "FROM a\nCOPY x /\nENV U=https://h\n": false,
	} {
		if got := labelStages([]byte(text), "").fetches(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

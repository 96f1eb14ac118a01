package deploy

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/runtime"
)

// shelves are the images of an engine without a registry.
type shelves map[string]containerImage // by reference

func (shelves) Control(context.Context, executable) (containerImage, error) {
	return containerImage{}, nil
}

func (shelves) BinaryVolume(context.Context, containerImage, string, string, runtime.Labels) (string, func(), error) {
	return "volume", func() {}, nil
}

func (s shelves) Images(_ context.Context, wants []imageWant, _ imageProgress) (map[string]containerImage, error) {
	got, missing := map[string]containerImage{}, &missingError{}
	for _, w := range wants {
		if i, ok := s[w.Ref]; ok {
			got[w.Name] = i
		} else {
			missing.Images = append(missing.Images, missingImage{Name: w.Name, Ref: w.Ref, Reason: "no registry\nhas it"})
		}
	}
	if len(missing.Images) > 0 {
		return nil, missing
	}
	return got, nil
}

// gathering are materials of a clan whose agent two has git.
func gathering(t *testing.T, state, root string, on shelves, yes bool) (*materials, []imageWant, *bytes.Buffer) {
	t.Helper()
	said := &bytes.Buffer{}
	vars := map[string]string{"XDG_STATE_HOME": state}
	lookup := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	at := instance.New(&term.Terminal{Env: role.Env{Lookup: lookup, Stderr: said, Stdin: strings.NewReader(""), Now: time.Now, Environ: func() []string { return nil }}}, instance.Flags{Directory: root})
	agent := func(name string) config.Agent {
		return config.Agent{Name: name, Image: "image-" + name, Replicas: 1, Strategy: config.StrategyReuse}
	}
	c := &config.Config{Runtime: config.RuntimeDocker, Agents: []config.Agent{agent("one"), agent("two")}}
	c.Services.Repository.Image = config.DefaultRepositoryImage
	c.Services.Redis.Embedded = true
	in := &instance.Instance{}
	in.Name, in.Workspace, in.ConfigFile = "test", root, filepath.Join(root, instance.ConfigName)
	j := &job{at: at, c: c, in: in, options: Options{Consent: instance.Consent{Yes: yes}}}
	m := &materials{l: &containerLauncher{j: j}, supply: on}
	m.probe = func(_ context.Context, image, program string, _ runtime.Labels) (bool, error) {
		return image == "id-two" && program == "git", nil
	}
	return m, wantedImages(c, in, lookup), said
}

func workplace(t *testing.T) (state, root string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.Mkdir(filepath.Join(root, ".git"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return t.TempDir(), root
}

// Where the default image cannot be had, an agent's with git takes its place, once a person agrees; the answer
// is remembered. Without one, or with another missing image, the error stays.
func TestRepositoryInAnAgentsImage(t *testing.T) {
	state, root := workplace(t)
	on := shelves{"image-one": {ID: "id-one", Ref: "image-one"}, "image-two": {ID: "id-two", Ref: "image-two"}}
	try := func(on shelves, yes bool) (*materials, map[string]containerImage, string, error) {
		m, wants, said := gathering(t, state, root, on, yes)
		_, why := on.Images(t.Context(), wants, nil)
		got, err := m.instead(t.Context(), wants, why)
		return m, got, said.String(), err
	}
	_, _, _, err := try(on, false)
	if role.CodeOf(err) != role.Usage || !strings.Contains(err.Error(), "the image of agent two, image-two, which has git: whoever made that image writes the store") {
		t.Fatalf("without an answer: %v", err)
	}
	m, got, said, err := try(on, true)
	if err != nil || got[runtime.ComponentRepository].ID != "id-two" || !m.replaced || !strings.Contains(said, "cannot be had: no registry") {
		t.Fatalf("with --yes: %v, %v, %q", got, err, said)
	}
	if _, got, _, err = try(on, false); err != nil || got[runtime.ComponentRepository].ID != "id-two" {
		t.Errorf("agreed before: %v, %v", got, err)
	}
	var missing *missingError
	if _, _, _, err := try(shelves{"image-one": on["image-one"]}, true); !errors.As(err, &missing) {
		t.Errorf("with another one missing: %v", err)
	}
	m, wants, _ := gathering(t, state, root, on, true)
	m.probe = func(context.Context, string, string, runtime.Labels) (bool, error) { return false, nil }
	_, why := on.Images(t.Context(), wants, nil)
	if _, err := m.instead(t.Context(), wants, why); !errors.Is(err, why) {
		t.Errorf("without git: %v", err)
	}
	m.l.j.c.Services.Repository.Image = "mine"
	if _, err := m.instead(t.Context(), wants, why); !errors.Is(err, why) {
		t.Errorf("of an image that sett.yml names: %v", err)
	}
}

// The image that the default name stands for is remembered, and another one is said aloud, once.
func TestDefaultImageIsRemembered(t *testing.T) {
	state, root := workplace(t)
	use := func(id string) string {
		m, _, said := gathering(t, state, root, nil, false)
		if err := m.noteDefault(containerImage{ID: id, Ref: config.DefaultRepositoryImage}); err != nil {
			t.Fatal(err)
		}
		return said.String()
	}
	for i, c := range []struct{ id, says string }{
		{"sha256:0123456789abcdef", ""}, {"sha256:0123456789abcdef", ""},
		{"sha256:fedcba9876543210", "is another one than before: it was sha256:0123456789ab, and is sha256:fedcba987654"},
		{"sha256:fedcba9876543210", ""},
	} {
		if said := use(c.id); said != c.says && (c.says == "" || !strings.Contains(said, c.says)) {
			t.Errorf("%d: says %q", i, said)
		}
	}
}

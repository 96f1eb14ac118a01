package e2e

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestForeignImage names an image for the orchestrator and an agent whose own program is
// called sett. It gets the engine's socket only with the permission of a file outside the
// repository, and even then Sett's own binary runs in it, as it does in the agent, which has
// the blackboard's credential.
func TestForeignImage(t *testing.T) {
	t.Parallel()
	needEngine(t)
	image := impostor(t)
	id, err := dockerSays("image", "inspect", "--format", "{{.Id}}", image)
	if err != nil {
		t.Fatal(err)
	}
	c := solo(finished, "")
	c.agents[0].image = image
	c.extra = "services: {orchestrator: {image: \"" + image + "\"}}\n"
	in := prepare(t, inContainers(c))

	for why, list := range map[string]string{
		"without a list":              "",
		"with another image allowed":  "sha256:" + strings.Repeat("0", 64) + "\n",
		"with the image in a comment": "# " + id + "\n",
	} {
		in.allowImage(list)
		code, out := in.sett("up")
		if code != 2 || !strings.Contains(out, id) || !strings.Contains(out, "orchestrator-images") {
			t.Errorf("%s: exit code %d\n%s", why, code, out)
		}
		in.nothing("a refused orchestrator image")
	}

	in.allowImage("# my own\n" + id + " " + image + "\n")
	in.must("up")
	in.open()
	for _, part := range []string{"orchestrator", "agent-solo"} {
		out, err := dockerSays("inspect", "--format", "{{.Image}} {{.Path}} {{.State.Running}}", in.container(part))
		if want := id + " /.sett/sett true"; err != nil || out != want {
			t.Errorf("%s runs as %q, want %q: %v", part, out, want, err)
		}
	}
	in.await(in.post("x"), enough)
}

// allowImage writes the list of orchestrator images that the user allows.
func (in *instance) allowImage(text string) {
	in.t.Helper()
	path := filepath.Join(in.root, "home", ".config", "sett", "orchestrator-images")
	if text == "" {
		_ = os.Remove(path)
		return
	}
	file(in.t, path, text, 0o600)
}

// impostor makes an image with a sett of its own as its entrypoint and first in its PATH.
func impostor(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file(t, filepath.Join(dir, "sett"), "#!/bin/sh\necho impostor; exec sleep 1000\n", 0o755)
	file(t, filepath.Join(dir, "Dockerfile"), "FROM "+baseImage+"\nCOPY sett /evil/sett\nENV PATH=/evil:/usr/bin:/bin\nENTRYPOINT [\"/evil/sett\"]\n", 0o644)
	image := "sett-e2e-impostor:" + strings.ToLower(rand.Text()[:8])
	if out, err := dockerSays("build", "--quiet", "--force-rm", "--tag", image, dir); err != nil {
		t.Fatal(out, err)
	}
	t.Cleanup(func() {
		if _, err := dockerSays("image", "rm", image); err != nil {
			t.Error(err)
		}
	})
	return image
}

package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sett/blackboard/redis/redistest"
	"sett/runtime/docker/engine"
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
	engine  *engine.Engine
	at      engine.Endpoint
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
	if why := redistest.NoDocker(); why != "" {
		return why, nil
	}
	if static.at, err = engine.Find(os.LookupEnv); err != nil {
		return redistest.Unreached(err), nil
	}
	if static.engine, err = engine.Open(context.Background(), static.at); err != nil {
		return redistest.Unreached(err), nil
	}
	if out, err := exec.Command("../../testdata/images/images.sh").CombinedOutput(); err != nil {
		return "", fmt.Errorf("make images: %w\n%s", err, out)
	}
	static.version = "e2e-" + strings.ToLower(rand.Text()[:8])
	static.path = filepath.Join(filepath.Dir(binary), "static", "sett")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+static.version, "-o", static.path, "sett")
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
	ctx, cancel := context.WithTimeout(context.Background(), enough)
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

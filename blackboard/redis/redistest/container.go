package redistest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
)

// The image is the one that sett.yml names by default.
const (
	imageName = "redis"
	imageTag  = "7-alpine"
	redisPort = "6379/tcp"
)

// containerLife is the longest life of a container, in seconds, also after its test
// binary was killed. It is longer than make test lets a binary run.
const containerLife = 3600

// shared is the one container of a test binary. Its life is that of Main, not of a
// test, which is why it is not passed around.
var shared struct {
	sync.Mutex
	managed  bool // Main will remove it
	pool     *dockertest.Pool
	resource *dockertest.Resource
	addr     string
}

// Main runs a package's tests and then removes the container that they shared. TestMain
// exits with its result.
func Main(m *testing.M) int {
	shared.Lock()
	shared.managed = true
	shared.Unlock()
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.resource == nil {
		return code
	}
	if err := shared.pool.Purge(shared.resource); err != nil {
		fmt.Fprintln(os.Stderr, "redistest: remove container:", err)
		return max(code, 1)
	}
	return code
}

// NoEngine says why there is no container engine; it is empty when there is one.
func NoEngine() string {
	shared.Lock()
	defer shared.Unlock()
	if err := engine(); err != nil {
		return Unreached(err)
	}
	return ""
}

// Unreached is the reason of a test that needs the container engine, with the command that would let it run: testrun
// shows both. Only the first line of an error is its cause.
func Unreached(err error) string {
	cause, _, _ := strings.Cut(err.Error(), "\n")
	hint := "sudo systemctl start docker; DOCKER_HOST says where another engine is"
	if _, missing := exec.LookPath(cmp.Or(os.Getenv("DOCKER"), "docker")); missing != nil {
		hint = "sudo apt-get install docker.io"
	}
	if errors.Is(err, fs.ErrPermission) || strings.Contains(cause, "permission denied") {
		hint = "sudo usermod -aG docker $USER, then log in again"
	}
	return "no container engine: " + cause + "\nhint: " + hint
}

// NoDocker says why tests that type docker commands cannot run: no engine, or no
// command to type or to make their images with. It is empty when they can.
func NoDocker() string {
	command := cmp.Or(os.Getenv("DOCKER"), "docker")
	for name, from := range map[string]string{command: "docker.io", "bash": "bash"} {
		if _, err := exec.LookPath(name); err != nil {
			return "no " + name + " command on the PATH, to test with containers\nhint: sudo apt-get install " + from
		}
	}
	return NoEngine()
}

// Container returns the URL of a Redis that runs in a container as sett.yml has it
// by default. The tests of a package share it, so they keep their instances apart
// by name, and need Main in their TestMain. The test is skipped where there is no
// container engine, or neither the image nor the means to get it.
func Container(tb testing.TB) string {
	tb.Helper()
	if testing.Short() {
		tb.Skip(Later)
	}
	if why := NoEngine(); why != "" {
		tb.Skip(why)
	}
	shared.Lock()
	defer shared.Unlock()
	if !shared.managed {
		tb.Fatal("redistest.Container needs redistest.Main in TestMain: nobody would remove the container")
	}
	if shared.addr == "" {
		if err := haveImage(); err != nil {
			tb.Skip(err)
		}
		if err := startContainer(); err != nil {
			tb.Fatal(err)
		}
	}
	return "redis://" + shared.addr
}

// engine connects to the engine, once it answers.
func engine() error {
	if shared.pool != nil {
		return nil
	}
	pool, err := dockertest.NewPool("")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := pool.Client.PingWithContext(ctx); err != nil {
		return err
	}
	shared.pool = pool
	return nil
}

func startContainer() error {
	r, err := shared.pool.RunWithOptions(&dockertest.RunOptions{
		Repository: imageName, Tag: imageTag, Labels: map[string]string{"sett.test": "redistest"},
		Cmd: []string{"redis-server", "--save", "", "--hash-max-listpack-value", "4096"},
	}, func(h *docker.HostConfig) {
		h.AutoRemove = true
		h.PublishAllPorts = false // which would be on every address
		h.PortBindings = map[docker.Port][]docker.PortBinding{redisPort: {{HostIP: "127.0.0.1"}}}
	})
	if err != nil {
		return fmt.Errorf("start %s:%s: %w", imageName, imageTag, err)
	}
	shared.resource = r
	if err := r.Expire(containerLife); err != nil {
		return fmt.Errorf("bound the life of the container: %w", err)
	}
	addr := r.GetHostPort(redisPort)
	if err := awaitAnswer(addr); err != nil {
		return err
	}
	shared.addr = addr
	return nil
}

// haveImage sees to it that the image is on the engine: pulled, or made of Debian
// packages where no registry answers.
func haveImage() error {
	const image = imageName + ":" + imageTag
	if _, err := shared.pool.Client.InspectImage(image); err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if shared.pool.Client.PullImage(docker.PullImageOptions{Repository: imageName, Tag: imageTag, Context: ctx}, docker.AuthConfiguration{}) == nil {
		return nil
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	script := filepath.Join(root, "testdata", "images", "images.sh")
	out, err := exec.CommandContext(ctx, script).CombinedOutput()
	if err != nil {
		return fmt.Errorf("get image %s by %s: %w\n%s", image, script, err, out)
	}
	if _, err := shared.pool.Client.InspectImage(image); err != nil {
		return fmt.Errorf("get image %s by %s: %w\n%s", image, script, err, out)
	}
	return nil
}

// moduleRoot returns the directory of go.mod, from wherever the test runs.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find go.mod above the test: %w", os.ErrNotExist)
		}
		dir = filepath.Dir(dir)
	}
}

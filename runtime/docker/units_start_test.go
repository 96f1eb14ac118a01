package docker

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"sett/runtime"
	"sett/runtime/docker/engine"
)

func TestHardeningAsInspected(t *testing.T) {
	p := newPlace(t)
	p.start(p.with(p.spec("x", "wait"), func(c *runtime.Container) {
		c.User, c.CPUs, c.Memory, c.Pids, c.Tmp = "4321:4322", 0.5, 64<<20, 20, 1<<20
		c.CPUsKept, c.MemoryKept = 0.25, 32<<20
	}))
	c := p.inspect("x")
	h := c.HostConfig
	for what, ok := range map[string]bool{
		"capabilities":   slices.Equal(h.CapDrop, []string{"ALL"}) && len(h.CapAdd) == 0,
		"privileges":     slices.Equal(h.SecurityOpt, []string{"no-new-privileges"}) && !h.Privileged,
		"read-only":      h.ReadonlyRootfs,
		"tmp":            strings.Contains(h.Tmpfs["/tmp"], "size=1048576") && !strings.Contains(h.Tmpfs["/tmp"], "noexec"),
		"pids":           h.PidsLimit != nil && *h.PidsLimit == 20,
		"memory":         h.Memory == 64<<20 && h.MemorySwap == h.Memory && h.MemoryReservation == 32<<20,
		"cpus":           h.NanoCPUs == 5e8 && h.CPUShares == 256,
		"log":            h.LogConfig.Type == "json-file" && h.LogConfig.Config["max-size"] == "10m" && h.LogConfig.Config["max-file"] == "3",
		"init":           h.Init != nil && !*h.Init,
		"ipc":            h.IpcMode == container.IPCModePrivate,
		"pid namespace":  h.PidMode == "",
		"host's network": h.NetworkMode == "none",
		"oom score":      h.OomScoreAdj == 0,
		"restart":        h.RestartPolicy.Name == container.RestartPolicyDisabled,
		"stop":           c.Config.StopSignal == "SIGTERM" && *c.Config.StopTimeout >= 15,
		"devices":        len(h.Devices) == 0,
		"user":           c.Config.User == "4321:4322",
	} {
		if !ok {
			t.Errorf("%s: not as it should be: %+v", what, h)
		}
	}
	p.start(p.with(p.spec("restarts", "wait"), func(c *runtime.Container) { c.Restart, c.Writable, c.CPUs = true, true, 4096 }))
	if h := p.inspect("restarts").HostConfig; h.RestartPolicy.Name != "unless-stopped" || h.ReadonlyRootfs {
		t.Errorf("restart %v, read-only %v", h.RestartPolicy, h.ReadonlyRootfs)
	} else if h.NanoCPUs != int64(p.e.Facts().CPUs)*1e9 { // the engine takes no more than it has
		t.Errorf("%d CPUs/1e9 of %d", h.NanoCPUs, p.e.Facts().CPUs)
	}
}

func TestHardeningAsFelt(t *testing.T) {
	p := newPlace(t)
	s := p.with(p.spec("x", "look"), func(c *runtime.Container) {
		c.User, c.Tmp = "4321:4322", 1<<20
	})
	s.Dir = "/tmp"
	out := p.ran(s)
	for _, want := range []string{
		"CapInh: 0000000000000000\n", "CapPrm: 0000000000000000\n", "CapEff: 0000000000000000\n",
		"CapBnd: 0000000000000000\n", "CapAmb: 0000000000000000\n", "NoNewPrivs: 1\n", "Seccomp: 2\n",
		"uid 4321 gid 4322 pid 1 ", " dir /tmp\n", "env SECRET=hunter2\n", "env FROM_IMAGE=yes\n", "env SETT_COURSES=\n", "env REDIS_URL=\n",
		"write / error: open /x: ", "write /tmp ok\n", "chown error:",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "planted") {
		t.Errorf("the image sets variables of Sett:\n%s", out)
	}
	root := p.ran(p.with(p.spec("root", "look"), func(c *runtime.Container) { c.User = "0:0" }))
	for _, want := range []string{"CapEff: 0000000000000000\n", "write / error: open /x: read-only file system\n", "write /tmp error"} {
		if !strings.Contains(root, want) {
			t.Errorf("as root, no %q in\n%s", want, root)
		}
	}
	out = p.ran(p.with(p.spec("tmp", "tmp", "2000000"), func(c *runtime.Container) { c.Tmp = 1 << 20 }))
	if !strings.Contains(out, "no space left on device") {
		t.Errorf("filling /tmp: %s", out)
	}
	out = p.ran(p.with(p.spec("forks", "forks"), func(c *runtime.Container) { c.Pids = 40 }))
	if !strings.Contains(out, "fork error:") || strings.Contains(out, "forked 200") {
		t.Errorf("fork bomb: %s", out)
	}
}

func TestStartAdopts(t *testing.T) {
	p := newPlace(t)
	u := p.startUp(p.spec("x", "wait"))
	if !u.Running || u.Name != "x" || u.Labels[runtime.LabelAgent] != "x" || u.StartedAt.IsZero() ||
		u.Labels[runtime.LabelInstance] != p.o.Instance || u.Labels[runtime.LabelRun] != "run" {
		t.Errorf("unit %+v", u)
	}
	if _, ok := u.Labels[runtime.LabelClaim]; ok {
		t.Errorf("labels %v are the image's", u.Labels)
	}
	again := p.start(p.spec("x", "exit", "1"))
	if again.ID != u.ID || !again.StartedAt.Equal(u.StartedAt) {
		t.Errorf("adopted %+v, want %+v", again, u)
	}
	if err := p.api.ContainerPause(t.Context(), u.ID); err != nil {
		t.Fatal(err)
	}
	if frozen := p.start(p.spec("x", "wait")); frozen.ID != u.ID || !frozen.Paused || !frozen.Running {
		t.Errorf("adopted %+v, want it paused", frozen)
	}
	listed, err := p.List(t.Context(), runtime.Labels{runtime.LabelAgent: "x"})
	if err != nil || len(listed) != 1 || listed[0].ID != u.ID || !listed[0].Paused || !listed[0].StartedAt.Equal(u.StartedAt) {
		t.Errorf("listed %+v, %v", listed, err)
	}
}

// TestStartTogether has two values, as of two processes, start one unit at the
// same moment, again and again.
func TestStartTogether(t *testing.T) {
	p := newPlace(t)
	q := New(p.e, p.o)
	for range 5 {
		var wg sync.WaitGroup
		units, errs := make([]runtime.Unit, 4), make([]error, 4)
		for i := range units {
			wg.Go(func() { units[i], errs[i] = []*Runtime{p.Runtime, q}[i%2].Start(t.Context(), p.spec("x", "wait")) })
		}
		wg.Wait()
		for i := range units {
			if errs[i] != nil || units[i].ID != units[0].ID {
				t.Errorf("started %+v, %v; want %s", units[i], errs[i], units[0].ID)
			}
		}
		if err := p.Stop(t.Context(), "x", 0); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStartReplacesWhatEnded(t *testing.T) {
	p := newPlace(t)
	u := p.start(p.spec("x", "exit", "1"))
	p.await(u)
	v := p.startUp(p.spec("x", "wait"))
	if v.ID == u.ID || !v.Running {
		t.Errorf("started %+v after %+v", v, u)
	}
	if log := p.logText("x", -1); log != "last words\nup\n" {
		t.Errorf("log %q", log)
	}
}

// TestStartReplacesWhatNeverStarted finds the container that a crash between create and start
// leaves.
func TestStartReplacesWhatNeverStarted(t *testing.T) {
	p := newPlace(t)
	sh, err := p.shapes.of(t.Context(), p.spec("x", "wait"))
	if err != nil {
		t.Fatal(err)
	}
	left, err := p.api.ContainerCreate(t.Context(), sh.config, sh.host, sh.network, nil, p.names.container("x"))
	if err != nil {
		t.Fatal(err)
	}
	listed, err := p.List(t.Context(), nil)
	if err != nil || len(listed) != 1 || listed[0].Running || listed[0].Name != "x" {
		t.Errorf("listed %+v, %v; want what is left, so that it is removed", listed, err)
	}
	if u := p.start(p.spec("x", "wait")); u.ID == left.ID || !u.Running {
		t.Errorf("started %+v", u)
	}
}

func TestStartRefusesForeign(t *testing.T) {
	p := newPlace(t)
	other := newPlace(t, func(o *Options) {
		o.Instance = p.o.Instance
		o.Labels = runtime.Labels{runtime.LabelWorkspace: "/another/one"}
	})
	u := p.startUp(p.spec("x", "wait"))
	_, err := other.Start(t.Context(), other.spec("x", "wait"))
	if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "/the/workspace") {
		t.Errorf("start: %v", err)
	}
	for what, err := range map[string]error{
		"stop":   other.Stop(t.Context(), "x", 0),
		"revive": other.Revive(t.Context(), "x"),
		"write":  other.Write(t.Context(), "x", nil),
	} {
		if !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if c := p.inspect("x"); c.ID != u.ID || !c.State.Running {
		t.Error("a foreign unit was touched")
	}
	net := p.with(p.spec("y", "wait"), func(c *runtime.Container) { c.Network = runtime.NetworkFull })
	p.start(net)
	if _, err := other.Start(t.Context(), p.with(other.spec("z", "wait"), func(c *runtime.Container) { c.Network = runtime.NetworkFull })); !errors.Is(err, ErrForeign) {
		t.Errorf("start on a foreign network: %v", err)
	}
}

func TestStartErrors(t *testing.T) {
	p := newPlace(t)
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	port := busy.Addr().(*net.TCPAddr).Port
	s := p.spec("x", "wait")
	brain := p.with(s, func(c *runtime.Container) { c.Socket, c.Entrypoint = true, []string{"/evil/sett"} })
	brain.Labels[runtime.LabelComponent] = runtime.ComponentOrchestrator
	board := p.with(s, func(c *runtime.Container) { c.Entrypoint = []string{"/none"} })
	board.Labels[runtime.LabelComponent] = runtime.ComponentBlackboard
	for name, c := range map[string]struct {
		s    runtime.Spec
		want string
		is   error
	}{
		"no image":    {p.with(s, func(c *runtime.Container) { c.Image = "sett-test-none:x" }), "no such image on the engine: sett-test-none:x", engine.ErrImage},
		"empty image": {p.with(s, func(c *runtime.Container) { c.Image = "" }), "no image is named", engine.ErrImage},
		"no program":  {board, `exec: "/none": stat /none: no such file or directory`, nil},
		"port": {p.with(s, func(c *runtime.Container) {
			c.Network, c.Publish = runtime.NetworkFull, runtime.Publish{Port: 80, Host: port}
		}), "the port is taken: " + strconv.Itoa(port), engine.ErrPort},
		"no anchor":                  {p.with(s, func(c *runtime.Container) { c.Join = "none" }), "join the network of unit none: it does not run", nil},
		"socket":                     {p.with(s, func(c *runtime.Container) { c.Socket = true }), "for the orchestrator alone", nil},
		"socket for another program": {brain, "runs sett's own binary, not the program", nil},
		"agent as another program":   {p.with(s, func(c *runtime.Container) { c.Entrypoint = []string{"/unit"} }), "runs sett's own binary, not the program", nil},
		"file outside":               {p.with(s, func(c *runtime.Container) { c.Files = []runtime.File{{Path: "/etc/x"}} }), "not below a writable volume", nil},
		"volume's name":              {p.with(s, func(c *runtime.Container) { c.Mounts = []runtime.Mount{{Source: "/run", Volume: true, Target: "/x"}} }), "not the name of a volume", nil},
		"network":                    {p.with(s, func(c *runtime.Container) { c.Network = "host" }), "unknown network", nil},
		"unusable name":              {p.spec("../x", "wait"), "unusable name", nil},
		"unusable join":              {p.with(s, func(c *runtime.Container) { c.Join = "../x" }), "unusable name", nil},
		"relative mount":             {p.with(s, func(c *runtime.Container) { c.Mounts = []runtime.Mount{{Source: "x", Target: "/x"}} }), "not an absolute path", nil},
	} {
		_, err := p.Start(t.Context(), c.s)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "daemon") || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if len(err.Error()) > 200 {
			t.Errorf("%s: long-winded: %v", name, err)
		}
	}
	if left, err := p.List(t.Context(), nil); err != nil || len(left) != 0 {
		t.Errorf("left behind: %+v, %v", left, err)
	}
}

func TestStartInterrupted(t *testing.T) {
	p := newPlace(t)
	for _, after := range []time.Duration{0, 20 * time.Millisecond, 60 * time.Millisecond, 120 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		_, err := p.Start(ctx, p.spec("x", "wait"))
		cancel()
		if err == nil {
			_ = p.Stop(t.Context(), "x", 0)
			continue
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %s: %v", after, err)
		}
		if left, err := p.List(t.Context(), nil); err != nil || len(left) != 0 {
			t.Errorf("after %s, left behind: %+v, %v", after, left, err)
		}
	}
}

func TestSocketIsRefused(t *testing.T) {
	p := newPlace(t)
	link := t.TempDir() + "/link"
	if err := os.Symlink("/var/run", link); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{"/", "/var", "/var/run", "/run", "/run/", "/run/docker.sock", "/var/run/docker.sock", "/var/../run", link, link + "/docker.sock"} {
		_, err := p.Start(t.Context(), p.with(p.spec("x", "wait"), func(c *runtime.Container) {
			c.Mounts = []runtime.Mount{{Source: source, Target: "/x", ReadOnly: true}}
		}))
		if err == nil || !strings.Contains(err.Error(), "engine's socket") {
			t.Errorf("mount %s: %v", source, err)
		}
	}
	for _, source := range []string{"/srv", "/run/dockerish", "/variable"} {
		if err := refuseSocket(source, p.shapes.sockets.all(t.Context())); err != nil {
			t.Errorf("mount %s: %v", source, err)
		}
	}
	s := p.with(p.spec("orchestrator", "look", "/run/docker.sock"), func(c *runtime.Container) { c.Socket = true })
	s.Labels[runtime.LabelComponent] = runtime.ComponentOrchestrator
	if out := p.ran(s); !strings.Contains(out, "file /run/docker.sock S") || !strings.Contains(out, "env DOCKER_HOST=unix:///run/docker.sock") {
		t.Errorf("the orchestrator sees %s", out)
	}
}

// TestSocketIsRefusedFromInside asks as from the orchestrator's container, where
// the engine's socket has another name than on the host.
func TestSocketIsRefusedFromInside(t *testing.T) {
	p := newPlace(t)
	_, wired := newWire(t, p.e)
	at := wired.Endpoint().Socket
	s := p.with(p.component(runtime.ComponentOrchestrator, "orchestrator", "wait"), func(c *runtime.Container) { c.Socket = true })
	if _, err := New(wired, p.o).Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	r := New(p.e, p.o)
	r.shapes.sockets.at = engine.Endpoint{Host: "unix://" + socketTarget, Socket: socketTarget}
	for source, refused := range map[string]bool{filepath.Dir(at): true, at: true, "/var/run": true, t.TempDir(): false} {
		_, err := r.Start(t.Context(), p.with(p.spec("x", "exit", "0"), func(c *runtime.Container) {
			c.Mounts = []runtime.Mount{{Source: source, Target: "/x"}}
		}))
		if (err != nil) != refused {
			t.Errorf("mount %s: %v", source, err)
		}
	}
}

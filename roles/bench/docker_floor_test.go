//go:build bench

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The floor of containers: the very containers that Sett made, as the engine itself
// describes them, created and started by the engine's own client, or by the bare
// calls of its interface, which spares the client's own start.

// twin is a container that is to be made like one that Sett made.
type twin struct {
	name    string
	network string // instead of the original's
	command []string
	full    map[string]any // what the engine said of the original
	of      original
}

// original is what of it the client is told.
type original struct {
	Config struct {
		Hostname, User, WorkingDir, Image string
		Env                               []string
	}
	HostConfig struct {
		CapDrop, SecurityOpt, GroupAdd []string
		ReadonlyRootfs                 bool
		Tmpfs                          map[string]string
		Memory, MemorySwap, NanoCpus   int64
		PidsLimit                      int64
		RestartPolicy                  struct{ Name string }
		LogConfig                      struct{ Config map[string]string }
		PortBindings                   map[string]any
		Mounts                         []struct {
			Type, Source, Target string
			ReadOnly             bool
		}
	}
	NetworkSettings struct {
		Networks map[string]struct{ Aliases []string }
	}
}

// twin reads what the engine says of a container. Its names of the instance become
// the twin's: volumes are its own.
func (b *box) twin(unit, network string, command ...string) twin {
	b.tb.Helper()
	raw := b.docker("inspect", "--format", "{{json .}}", b.container(unit))
	raw = strings.ReplaceAll(raw, `"`+"sett-"+b.name+".", `"`+floorName(b.id)+".")
	t := twin{name: floorName(b.id) + "." + unit, network: network, command: command}
	for _, into := range []any{&t.full, &t.of} {
		if err := json.Unmarshal([]byte(raw), into); err != nil {
			b.tb.Fatal(err)
		}
	}
	return t
}

func floorName(id string) string { return "sett-bench-floor-" + id }

// arguments are what the engine's own client is told to create the twin.
func (t twin) arguments(id string) []string {
	c, h := t.of.Config, t.of.HostConfig
	args := []string{"create", "--name", t.name, "--label", labelBench + "=" + id, "--network", t.network, "--user", c.User,
		"--ipc", "private", "--no-healthcheck", "--restart", h.RestartPolicy.Name, "--log-driver", "json-file",
		"--entrypoint", t.command[0], "--memory", strconv.FormatInt(h.Memory, 10), "--memory-swap", strconv.FormatInt(h.MemorySwap, 10),
		"--cpus", fmt.Sprint(float64(h.NanoCpus) / 1e9), "--pids-limit", strconv.FormatInt(h.PidsLimit, 10)}
	several := func(flag string, values ...string) {
		for _, v := range values {
			args = append(args, flag, v)
		}
	}
	several("--env", c.Env...)
	several("--cap-drop", h.CapDrop...)
	several("--security-opt", h.SecurityOpt...)
	several("--group-add", h.GroupAdd...)
	if c.WorkingDir != "" {
		several("--workdir", c.WorkingDir)
	}
	if h.ReadonlyRootfs {
		args = append(args, "--read-only")
	}
	for dir, how := range h.Tmpfs {
		several("--tmpfs", dir+":"+how)
	}
	for key, value := range h.LogConfig.Config {
		several("--log-opt", key+"="+value)
	}
	for port := range h.PortBindings {
		several("--publish", "127.0.0.1::"+port)
	}
	for _, m := range h.Mounts {
		how := "type=" + m.Type + ",src=" + m.Source + ",dst=" + m.Target
		if m.ReadOnly {
			how += ",readonly"
		}
		if m.Type == "volume" {
			how += ",volume-nocopy"
		}
		if m.Type == "volume" && !m.ReadOnly { // its own, to be found again
			how += ",volume-label=" + labelBench + "=" + id
		}
		several("--mount", how)
	}
	return append(append(args, c.Image), t.command[1:]...)
}

// client creates and starts a twin with the engine's own client.
func (r *rig) client(t twin) {
	r.tb.Helper()
	r.docker(t.arguments(r.id)...)
	r.docker("start", t.name)
}

// calls creates and starts a twin with two calls of the engine's interface.
func (r *rig) calls(t twin) {
	r.tb.Helper()
	config, _ := t.full["Config"].(map[string]any)
	host, _ := t.full["HostConfig"].(map[string]any)
	config["Entrypoint"], config["Cmd"] = t.command[:1], t.command[1:]
	config["Labels"] = map[string]string{labelBench: r.id}
	host["NetworkMode"] = t.network
	delete(config, "Hostname")
	for _, bindings := range t.of.HostConfig.PortBindings {
		all, _ := bindings.([]any)
		for _, b := range all {
			b.(map[string]any)["HostPort"] = ""
		}
	}
	host["PortBindings"] = t.of.HostConfig.PortBindings
	for _, m := range host["Mounts"].([]any) {
		if m := m.(map[string]any); m["Type"] == "volume" && m["ReadOnly"] != true {
			m["VolumeOptions"] = map[string]any{"NoCopy": true, "Labels": map[string]string{labelBench: r.id}}
		}
	}
	body := map[string]any{"HostConfig": host}
	for key, value := range config {
		body[key] = value
	}
	var made struct {
		ID string `json:"Id"`
	}
	r.call("/containers/create?name="+t.name, body, &made)
	r.call("/containers/"+made.ID+"/start", nil, nil)
}

// call is one call of the engine's interface, over a connection that stays.
func (r *rig) call(path string, body, answer any) {
	r.tb.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		r.tb.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, "http://engine"+path, bytes.NewReader(raw))
	if err != nil {
		r.tb.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if body == nil {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	res, err := r.http().Do(req)
	if err != nil {
		r.tb.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	said, _ := io.ReadAll(res.Body)
	if res.StatusCode >= 300 {
		r.tb.Fatalf("%s: %s: %s", path, res.Status, said)
	}
	if answer != nil {
		if err := json.Unmarshal(said, answer); err != nil {
			r.tb.Fatal(err)
		}
	}
}

func (r *rig) http() *http.Client {
	if r.engine == nil {
		r.engine = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", r.socket)
		}}}
	}
	return r.engine
}

// sequence makes a network and starts twins on it, one after another, and returns
// how long that took, and the last of them. Then it removes them.
func (r *rig) sequence(start func(twin), twins []twin) (all, last time.Duration) {
	r.tb.Helper()
	began := time.Now()
	r.docker("network", "create", "--label", labelBench+"="+r.id, floorName(r.id))
	for _, t := range twins {
		before := time.Now()
		start(t)
		last = time.Since(before)
	}
	all = time.Since(began)
	r.remove(twins...)
	r.docker("network", "rm", floorName(r.id))
	if volumes := r.docker("volume", "ls", "--quiet", "--filter", "label="+labelBench+"="+r.id); volumes != "" {
		r.docker(append([]string{"volume", "rm"}, strings.Fields(volumes)...)...)
	}
	return all, last
}

func (r *rig) remove(twins ...twin) {
	r.tb.Helper()
	args := []string{"rm", "--force"}
	for _, t := range slices.Backward(twins) {
		args = append(args, t.name)
	}
	r.docker(args...)
}

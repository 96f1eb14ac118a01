package cub

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sett/contract/env"
	"sett/roles/cub/toolrun"
	"sett/roles/role"
)

// claimVariable names the claim of a cub in a process of its own.
const claimVariable = "CUB_TEST_CLAIM"

// vars are environment variables.
type vars map[string]string

// shell is a command that runs a script, as SETT_AGENT_COMMAND has it.
func shell(script string) string {
	b, _ := json.Marshal([]string{"sh", "-c", script})
	return string(b)
}

// says is a tool that prints an object.
func says(object string) string { return shell("cat >/dev/null; printf '%s' '" + object + "'") }

const good = `{"artefact_type":"Note","artefact_payload":"done","summary":"all of it"}`

// running is a cub that was started.
type running struct {
	t     testing.TB
	agent string
	dir   string // its workspace
	stop  func() // the first request to stop
	hurry func() // the second
	log   *logs
	ended chan struct{}
	err   error // once ended
}

// environment is all that a cub is started with, by default and by the test.
func environment(t testing.TB, url, agent string, more vars) vars {
	all := vars{
		env.Instance: instance, env.Agent: agent, env.RedisURL: url, env.Command: says(good), env.HealthAddr: "off",
		env.RedisTimeout: "1s", env.LogLevel: "debug", "PATH": os.Getenv("PATH"), "HOME": t.TempDir(),
	}
	maps.Copy(all, more)
	if all[env.Workspace] == "" {
		all[env.Workspace] = t.TempDir()
	}
	return all
}

func world(all vars, stderr io.Writer, args ...string) role.Env {
	return role.Env{
		Args: args, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: stderr,
		Lookup: func(name string) (string, bool) { v, ok := all[name]; return v, ok },
		Environ: func() (list []string) {
			for _, name := range slices.Sorted(maps.Keys(all)) {
				list = append(list, name+"="+all[name])
			}
			return list
		},
		Now: time.Now, Entropy: rand.Reader, Build: role.Build{Version: "test"},
	}
}

// start starts a cub. It is stopped with the test, if it still runs.
func (c *clan) start(agent string, more vars, args ...string) *running {
	c.t.Helper()
	return c.startWith(hasty{toolrun.New()}, agent, more, args...)
}

func (c *clan) startWith(runner toolrun.Runner, agent string, more vars, args ...string) *running {
	c.t.Helper()
	all := environment(c.t, c.server.URL, agent, more)
	ctx, cancel := context.WithCancel(context.Background())
	hurry := make(chan struct{})
	r := &running{t: c.t, agent: agent, dir: all[env.Workspace], stop: cancel, hurry: sync.OnceFunc(func() { close(hurry) }),
		log: &logs{}, ended: make(chan struct{})}
	e := world(all, r.log, args...)
	e.Hurry = hurry
	go func() {
		defer close(r.ended)
		r.err = RunWith(ctx, e, runner)
	}()
	c.t.Cleanup(func() {
		r.stop()
		r.hurry()
		r.end()
		if c.t.Failed() {
			all := r.log.String()
			c.t.Logf("end of the log of %s:\n%s", agent, all[max(0, len(all)-3000):])
		}
	})
	return r
}

// hasty has less patience than a cub with its tools.
type hasty struct{ toolrun.Runner }

func (h hasty) Run(ctx context.Context, c toolrun.Command) (toolrun.Result, error) {
	c.Grace = 100 * time.Millisecond
	return h.Runner.Run(ctx, c)
}

// end waits for the cub's end, and returns how it ended.
func (r *running) end() error {
	r.t.Helper()
	select {
	case <-r.ended:
		return r.err
	case <-time.After(5 * time.Minute):
		r.t.Fatalf("the cub does not end; its log:\n%s", r.log)
		return nil
	}
}

// record is one line of a log.
type record map[string]any

func (r record) text(key string) string { s, _ := r[key].(string); return s }

// logs takes a cub's log.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// find returns the lines with a message and, where given, with these attributes.
func (l *logs) find(t testing.TB, msg string, attributes ...string) (found []record) {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("log line %q: %v", line, err)
		}
		fits := r["msg"] == msg
		for i := 0; i+1 < len(attributes); i += 2 {
			fits = fits && r.text(attributes[i]) == attributes[i+1]
		}
		if fits {
			found = append(found, r)
		}
	}
	return found
}

// await waits for such a line.
func (l *logs) await(t testing.TB, msg string, attributes ...string) record {
	t.Helper()
	var found []record
	until(t, "the log says "+msg, func() bool {
		found = l.find(t, msg, attributes...)
		return len(found) > 0
	})
	return found[0]
}

// show is a value in full, for comparing.
func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

//go:build bench

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cub"
	"sett/roles/cub/toolrun"
	"sett/roles/gateway"
	"sett/roles/orchestrator"
	"sett/roles/repository"
	"sett/roles/role"
)

const roleVariable = "SETT_BENCH_ROLE"

// TestMain makes this binary every process the benchmark needs.
func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	e := role.OS(nil, role.Build{Version: "bench"})
	var err error
	switch os.Getenv(roleVariable) {
	case "":
		return m.Run()
	case "orchestrator":
		err = orchestrator.Run(ctx, e)
	case "cub":
		err = cub.Run(ctx, e)
	case "cub-noop":
		err = cub.RunWith(ctx, e, noop{})
	case "model-gateway":
		err = gateway.Run(ctx, e)
	case "repository":
		err = repository.Run(ctx, e)
	case "floor":
		err = floorPartner(ctx, os.Getenv(env.RedisURL))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// noop is a tool that costs nothing.
type noop struct{}

var noopOutput = []byte(`{"artefact_type":"Done","artefact_payload":"x","summary":""}`)

func (noop) Run(context.Context, toolrun.Command) (toolrun.Result, error) {
	now := time.Now()
	return toolrun.Result{Stdout: noopOutput, StdoutSize: int64(len(noopOutput)), Started: now, Reaped: now}, nil
}

// spawn starts this binary in a role, and ends it with the test.
func spawn(tb testing.TB, what string, vars ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), roleVariable+"="+what, env.HealthAddr+"=off", env.LogLevel+"=error"), vars...)
	log, err := os.Create(filepath.Join(tb.TempDir(), what+".log"))
	if err != nil {
		tb.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if out, _ := os.ReadFile(log.Name()); len(out) > 0 {
			tb.Logf("%s said:\n%s", what, out)
		}
		_ = log.Close()
	})
	return cmd
}

// clan is a running instance: an orchestrator and cubs, each a process.
type clan struct {
	board        *redis.Board
	orchestrator *exec.Cmd
	cubs         []*exec.Cmd
	url          string
	configFile   string
}

type member struct {
	name    string
	bids    []config.BidRule
	tool    []string
	adapter config.Adapter // zero: the contract's JSON
	slots   int            // grants at once; 0: one
}

func startClan(tb testing.TB, url, cubRole string, members []member) *clan {
	tb.Helper()
	c := &clan{url: url}
	cfg := config.Config{Version: "1.0", Runtime: "process", Orchestrator: config.Orchestrator{MaxReviewIterations: 3, MaxArtefacts: 100}}
	for _, m := range members {
		cfg.Agents = append(cfg.Agents, config.Agent{Name: m.name, Role: m.name, Command: m.tool, Bids: m.bids, Adapter: m.adapter, Replicas: 1, Concurrency: max(m.slots, 1),
			Strategy: config.StrategyReuse, Timeout: time.Minute, Grace: time.Second,
			Workspace: config.Workspace{Mode: blackboard.NoWorkspace}})
	}
	raw, err := json.Marshal(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	c.configFile = filepath.Join(tb.TempDir(), "config.json")
	if err := os.WriteFile(c.configFile, raw, 0o600); err != nil {
		tb.Fatal(err)
	}
	c.startOrchestrator(tb)
	for _, a := range cfg.Agents {
		v := env.Of(a)
		v.Instance, v.Workspace, v.HealthAddr = "bench", tb.TempDir(), "off"
		if n := a.Slots(); n > 1 {
			v.Slots = slices.Repeat([]env.Slot{{Workspace: v.Workspace}}, n)
		}
		v.Redis = env.Redis{URL: url, Retries: 5}
		c.cubs = append(c.cubs, spawn(tb, cubRole, v.Environ()...))
	}
	c.board = openBoard(tb, url)
	waitFor(tb, "the clan", func() bool {
		all, err := c.board.Roster.Agents(context.Background())
		ready := err == nil && len(all) == len(members)
		for _, p := range all {
			ready = ready && !p.Alive.IsZero()
		}
		return ready
	})
	return c
}

func (c *clan) startOrchestrator(tb testing.TB, vars ...string) {
	c.orchestrator = spawn(tb, "orchestrator",
		append([]string{env.Instance + "=bench", env.RedisURL + "=" + c.url, env.Config + "=" + c.configFile}, vars...)...)
}

func openBoard(tb testing.TB, url string) *redis.Board {
	tb.Helper()
	b, err := redis.Open(context.Background(), redis.Options{URL: url, Instance: "bench", Name: "bench"})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(b.Close)
	return b
}

func waitFor(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(60 * time.Second); !done(); {
		if time.Now().After(deadline) {
			tb.Fatalf("waited too long for %s", what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

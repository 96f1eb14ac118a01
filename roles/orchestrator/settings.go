package orchestrator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/orchestrator/arbiter"
)

// settings are what the orchestrator is started with.
type settings struct {
	Instance   string
	Redis      env.Redis
	ConfigFile string
	StateDir   string
	Workspace  string
	HealthAddr string
	Run        string
	Lease      time.Duration
	Executable string
	// Seat begins the name we lead under. With a state directory there is one
	// orchestrator at a time, so a new one need not wait for a dead one's lease.
	Seat string
}

func parseSettings(lookup func(string) (string, bool)) (settings, error) {
	r := &env.Reader{Lookup: lookup}
	s := settings{
		Instance:   r.Required(env.Instance, "the instance's name, such as my-sett"),
		Redis:      r.Redis(),
		ConfigFile: r.Required(env.Config, "the file with the resolved configuration"),
		StateDir:   r.Or(env.StateDir, ""), Workspace: r.Or(env.Workspace, ""),
		HealthAddr: r.Or(env.HealthAddr, ":8080"), Run: r.Or(env.Run, ""), Lease: r.Span(env.Lease, 10*time.Second),
	}
	if err := errors.Join(r.Err(), s.check()); err != nil {
		return s, err
	}
	exe, err := os.Executable()
	if err != nil {
		return s, fmt.Errorf("find the sett binary: %w", err)
	}
	s.Executable = exe
	s.Seat = "orchestrator-"
	if s.StateDir != "" {
		host, _ := os.Hostname()
		sum := sha256.Sum256([]byte(host + "\x00" + s.StateDir))
		s.Seat = "orchestrator-" + hex.EncodeToString(sum[:6]) + "-"
	}
	return s, nil
}

// shortestLease is what still leaves room for renewals.
const shortestLease = 100 * time.Millisecond

func (s settings) check() error {
	var name, lease error
	if s.Instance != "" {
		if err := config.ValidInstanceName(s.Instance); err != nil {
			name = fmt.Errorf("%s is %q; want a valid instance name: %w", env.Instance, s.Instance, err)
		}
	}
	if s.Lease > 0 && s.Lease < shortestLease {
		lease = fmt.Errorf("%s is %s; want at least %s", env.Lease, s.Lease, shortestLease)
	}
	return errors.Join(name, lease)
}

// clan is the configuration in force. It changes when sett up says so.
type clan struct {
	mu     sync.Mutex
	file   string
	raw    string
	config *config.Config
}

func loadClan(file string) (*clan, error) {
	c := &clan{file: file}
	_, err := c.reload()
	return c, err
}

// reload reads the file again and says whether anything changed. When it cannot
// be read, the configuration stays as it was.
func (c *clan) reload() (changed bool, err error) {
	raw, err := os.ReadFile(c.file)
	if err != nil {
		return false, fmt.Errorf("read configuration: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if string(raw) == c.raw {
		return false, nil
	}
	var parsed config.Config
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return false, fmt.Errorf("read configuration %s: %w", c.file, err)
	}
	if len(parsed.Agents) == 0 {
		return false, fmt.Errorf("read configuration %s: no agents in it", c.file)
	}
	c.raw, c.config = string(raw), &parsed
	return true, nil
}

func (c *clan) get() *config.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.config
}

func (c *clan) policy() arbiter.Policy {
	cfg := c.get()
	return arbiter.Policy{
		Clan: cfg.Names(), MaxReviewIterations: cfg.Orchestrator.MaxReviewIterations, BidTimeout: cfg.Orchestrator.BidTimeout,
	}
}

package orchestrator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/orchestrator/arbiter"
)

// settings are the orchestrator's environment variables.
type settings struct {
	Instance   string
	Redis      env.Redis
	ConfigFile string
	StateDir   string
	BoardAddr  string // of a blackboard that the keeper starts again; empty: somebody else does, or nobody
	Workspace  string
	Pins       string            // directory of the sets of pinned files
	Store      string            // on the agents' host
	Trees      string            // directory of the agents' trees, on their host
	Values     map[string]string // of the host's variables that programs get
	HealthAddr string
	Run        string
	Lease      time.Duration
	Executable string
	NoCourses  bool // the orchestrator decides about all claims itself

	LandInto       string   // git directory of the user's repository, on the agents' host
	RepositoryURL  string   // of the role that prepares the trees, as agents see it
	RepositoryKey  string   // of which agents' tokens there are made
	GatewayURL     string   // of the model gateway, as agents see it; empty: there is none
	GatewayKey     string   // of which agents' tokens there are made
	ModelKeys      string   // file on the agents' host with the providers' keys, for a container; empty: none is wanted
	ModelSecrets   string   // the providers' keys, for a process: a JSON object
	ModelAnswers   string   // directory on that host for the answers of running grants
	Runtime        string   // of the agents: config.RuntimeDocker or RuntimeProcess; empty: somebody else runs them
	AgentsRedis    string   // the blackboard as agents' containers see it
	AgentsRedisCA  string   // directory on their host with the certificates for that; empty: known authorities are trusted
	AgentsUser     string   // uid:gid of agents' containers
	ControlImage   string   // the image with nothing but the sett binary
	WorkspaceExtra []string // directories that the workspace needs, mounted where they are
	LogDir         string   // keeps the logs of removed containers

	// Seat begins the name under which we lead. With a state directory there is one
	// orchestrator at a time, so that a new one need not wait for a dead one's lease.
	Seat string
}

func parseSettings(lookup func(string) (string, bool)) (settings, error) {
	r := &env.Reader{Lookup: lookup}
	s := settings{
		Instance:   r.Required(env.Instance, "the instance's name, such as my-sett"),
		Redis:      r.Redis(),
		ConfigFile: r.Required(env.Config, "the file with the resolved configuration"),
		StateDir:   r.Or(env.StateDir, ""), BoardAddr: r.Or(env.ListenAddr, ""), Workspace: r.Or(env.Workspace, ""), Pins: r.Or(env.Pins, ""),
		Store: r.Or(env.Store, ""), Trees: r.Or(env.Trees, ""), LandInto: r.Or(env.LandInto, ""), RepositoryURL: r.Or(env.RepositoryURL, ""), RepositoryKey: r.Or(env.RepositoryKey, ""),
		GatewayURL: r.Or(env.ModelGateway, ""), GatewayKey: r.Or(env.GatewayKey, ""), ModelKeys: r.Or(env.ModelKeys, ""), ModelSecrets: r.Or(env.ModelSecrets, ""), ModelAnswers: r.Or(env.ModelAnswers, ""),
		HealthAddr: r.Or(env.HealthAddr, ":8080"), Run: r.Or(env.Run, ""), Lease: r.Span(env.Lease, 10*time.Second),
		AgentsRedis: r.Or(env.AgentsRedisURL, ""), AgentsRedisCA: r.Or(env.AgentsRedisCA, ""), AgentsUser: r.Or(env.AgentsUser, ""),
		ControlImage: r.Or(env.ControlImage, ""), LogDir: r.Or(env.LogDir, ""),
	}
	s.Values = r.Values()
	s.NoCourses = r.OneOf(env.Courses, "on", "off") == "off"
	s.WorkspaceExtra = filepath.SplitList(r.Or(env.WorkspaceExtra, ""))
	if s.Runtime = r.Or(env.Runtime, ""); s.Runtime == "" && s.StateDir != "" {
		s.Runtime = config.RuntimeProcess
	}
	if s.Runtime != "" {
		r.Required(env.Store, "the directory of the instance's store")
		r.Required(env.Trees, "the directory of the agents' trees")
		r.Required(env.RepositoryURL, "the repository role as agents see it, such as http://127.0.0.1:7070")
		r.Required(env.RepositoryKey, "the secret of which agents' tokens are made")
	}
	if s.containers() {
		r.Required(env.AgentsRedisURL, "the blackboard as agents' containers see it, such as redis://sett-my-sett-redis:6379/0")
		r.Required(env.Workspace, "the repository's path on the engine's host")
		r.Required(env.ControlImage, "the image with nothing but the sett binary")
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
		s.Seat = seatAt(host, s.StateDir)
	}
	return s, nil
}

// seatAt returns the seat of a place: only one orchestrator can run there.
func seatAt(place ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(place, "\x00")))
	return "orchestrator-" + hex.EncodeToString(sum[:6]) + "-"
}

// shortestLease still leaves room for renewals.
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
	var place error
	if s.Runtime != "" && s.Runtime != config.RuntimeProcess && s.Runtime != config.RuntimeDocker {
		place = fmt.Errorf("%s is %q; want docker or process", env.Runtime, s.Runtime)
	}
	return errors.Join(name, lease, place)
}

// containers says whether agents are containers.
func (s settings) containers() bool { return s.Runtime == config.RuntimeDocker }

// unitURL returns the blackboard's address for a unit, with the unit's own user, which
// follows from the administrator's password. An address that names a user is for all.
func (s settings) unitURL(as func(at, admin string) (string, error)) (string, error) {
	at, err := url.Parse(s.AgentsRedis)
	if err != nil || at.User != nil {
		return s.AgentsRedis, err
	}
	admin, err := url.Parse(s.Redis.URL)
	if err != nil {
		return "", err
	}
	password, _ := admin.User.Password()
	return as(s.AgentsRedis, password)
}

// clan is the configuration in force. sett up may replace its file at any time.
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

// reload reads the file again and says whether anything changed. The configuration
// stays as it was if the file cannot be read.
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

// policyOf returns the part of the configuration that decisions depend on.
func policyOf(cfg *config.Config) arbiter.Policy {
	o := cfg.Orchestrator
	var required []string
	for _, a := range cfg.Agents {
		if a.BidsRequired {
			required = append(required, a.Name)
		}
	}
	return arbiter.Policy{
		BidsRequired: required,
		Clan:         cfg.Names(), MaxReviewIterations: o.MaxReviewIterations, BidTimeout: o.BidTimeout, QuestionTimeout: o.QuestionTimeout,
		Verifies:         cfg.Verifies(),
		AskAtReviewLimit: o.OnReviewLimit == config.ReviewLimitAsk,
	}
}

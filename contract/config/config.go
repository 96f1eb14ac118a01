package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sett/blackboard"
	"sett/contract/model"
)

// The runtimes.
const (
	RuntimeDocker  = "docker"
	RuntimeProcess = "process"
)

// The strategies of an agent's container.
const (
	StrategyReuse        = "reuse"          // started once, left running
	StrategyFreshPerCall = "fresh_per_call" // a new one for every granted claim
)

// The networks of an agent's tool.
const (
	NetworkNone     = "none"
	NetworkInternal = "internal" // the instance's own network only
	NetworkFull     = "full"
)

// The adapters: how a program speaks the contract.
const (
	AdapterJSON  = "json"  // it reads and prints the contract's JSON; also the empty string
	AdapterCheck = "check" // its exit code decides
	AdapterText  = "text"  // its stdout is the payload

	AdapterCommit = "commit" // its changes to the tree are committed, and the commit is the payload
)

// The forms of an adapter's stdin, and the signs of a check's failure.
const (
	StdinJSON    = "json"    // the contract's JSON; also the empty string
	StdinPayload = "payload" // the target's payload
	StdinPrompt  = "prompt"  // the prompt that `sett llm` would give a model
	StdinNone    = "none"    // nothing
	FailOnExit   = "exit"    // the exit code alone; also the empty string
	FailOnOutput = "output"  // any text on stdout as well
)

// Adapter says how a program that was not written for Sett speaks the contract.
type Adapter struct {
	Kind     string   `json:"adapter,omitempty"`
	Stdin    string   `json:"stdin,omitempty"`
	FailOn   string   `json:"fail_on,omitempty"`  // of a check
	Makes    []string `json:"makes,omitempty"`    // the artefact types that it may produce, in file order; empty: any
	Terminal bool     `json:"terminal,omitempty"` // its exclusive results are final
}

// The places of the orchestrator.
const (
	RunContainer = "container"
	RunHost      = "host"
)

// The policies after the last allowed rework of an artefact.
const (
	ReviewLimitFail = "fail" // the workflow fails
	ReviewLimitAsk  = "ask"  // a person is asked, and the rework goes on with the answer
)

// Config is a valid sett.yml with all defaults filled in.
type Config struct {
	Version      string       `json:"version"` // of the file format: "1.0"
	Runtime      string       `json:"runtime"` // RuntimeDocker or RuntimeProcess
	Agents       []Agent      `json:"agents"`  // in file order, at least one
	Services     Services     `json:"services"`
	Approve      []string     `json:"approve"`           // patterns of artefact types that a person lets through, in file order; never nil
	Pin          []string     `json:"pin,omitempty"`     // further files and folders of the repository that agents' programs use, in file order
	Commits      []string     `json:"commits,omitempty"` // artefact types, besides CodeCommit, whose payload is a commit, in file order
	Land         *Land        `json:"land,omitempty"`    // nil: results wait for sett land
	Notify       *Notify      `json:"notify,omitempty"`
	Otel         *Otel        `json:"otel,omitempty"`   // nil: there are no traces
	Models       []Model      `json:"models,omitempty"` // in file order
	Budget       *Budget      `json:"budget,omitempty"` // of each goal; nil: none
	Local        *Local       `json:"local,omitempty"`  // nil: nothing keeps tools of local mode from anything
	Orchestrator Orchestrator `json:"orchestrator"`
	Redis        Redis        `json:"redis"`
}

// Agent is one member of the clan.
type Agent struct {
	Name        string       `json:"name"`            // its key in sett.yml
	Role        string       `json:"role"`            // default: its name
	Image       string       `json:"image,omitempty"` // empty when it is built
	Build       *Build       `json:"build,omitempty"` // nil when there is an image
	Command     []string     `json:"command"`         // program and arguments, never a shell
	Replicas    int          `json:"replicas"`        // workers at once, at least 1
	Concurrency int          `json:"concurrency"`     // grants at once in one unit; at least 1, and above it only with StrategyReuse
	Strategy    string       `json:"strategy"`        // StrategyReuse or StrategyFreshPerCall
	Workspace   Workspace    `json:"workspace"`       //
	Environment []EnvVar     `json:"environment"`     // in file order, each name once
	Resources   Resources    `json:"resources"`       //
	Prompts     Prompts      `json:"prompts"`         //
	HealthCheck *HealthCheck `json:"health_check"`    // nil when not given
	Bids        []BidRule    `json:"bids"`            // in file order; nil when not given
	BidScript   []string     `json:"bid_script"`      // program and arguments; nil when not given

	// Without a bid of the script the claim waits; otherwise that is an ignore.
	BidsRequired bool `json:"bids_required"`

	Timeout time.Duration `json:"timeout"`           // of one run of the tool, above 0
	Grace   time.Duration `json:"stop_grace_period"` // between asking to stop and killing; 0 kills at once
	Retries int           `json:"retries"`           // attempts after a crash, beyond the first
	Network string        `json:"network"`           // NetworkNone, NetworkInternal or NetworkFull
	Warm    int           `json:"warm"`              // started workers that wait for a claim

	// Under docker: each worker has a network of its own, for tools that open
	// ports, instead of one that it shares with its agent's other workers. Only
	// with StrategyFreshPerCall.
	IsolatedPorts bool `json:"isolated_ports"`
	// Under docker: nothing but the workspace and /tmp can be written. Default true.
	ReadOnly bool    `json:"read_only"`
	Adapter  Adapter `json:"adapter,omitzero"`
	// The model that its program may ask; nil: none. And the bounds of each grant's calls.
	LLM    *LLM          `json:"llm,omitempty"`
	Budget *model.Budget `json:"budget,omitempty"`
	// Its tools are part of traces.
	Traced bool `json:"traced,omitempty"`
	// The Commits of its file.
	Commits []string `json:"commits,omitempty"`
	// The Local of its file in local mode; else nil.
	Local *Local `json:"local,omitempty"`
	// The parts of its container on this engine, or the sett of its process. Never in
	// sett.yml: `sett up` finds them.
	Resolved *Resolved `json:"resolved,omitempty"`
}

// Resolved has the parts of an agent's container, once its image is on the engine and
// inspected; or the sett of its process.
type Resolved struct {
	Sett   string `json:"sett,omitempty"`   // of a process: the version of its cub
	Image  string `json:"image,omitempty"`  // id: a tag may move, an id does not
	Binary string `json:"binary,omitempty"` // volume with the sett binary, mounted; empty: the image is sett's own

	// Values is a keyed digest of the host's variables that it was started with, so that a
	// new value restarts it; empty: it uses none. The key stays in the instance's state.
	Values string `json:"values,omitempty"`

	// Write are the places of Local as they are on this machine, absolute and without links.
	Write []string `json:"write,omitempty"`

	// Pin is the digest of the clan's pinned files; empty: it uses none. Programs leads
	// from words of its commands, as they are written, to pinned files.
	Pin      string            `json:"pin,omitempty"`
	Programs map[string]string `json:"programs,omitempty"`

	// Lacks is the program of its commands that the repository has not, as a path there.
	// Another agent may make it. Empty: there is none.
	Lacks string `json:"lacks,omitempty"`

	// Outside are the directories outside of the user's git directory that hold objects of that repository, for the
	// unit that lands results there from a container.
	Outside []Outside `json:"outside,omitempty"`
}

// Outside is a directory that a container has at the path that it has on this machine.
type Outside struct {
	Dir   string `json:"dir"`
	Write bool   `json:"write,omitempty"`
}

// Build has the settings of an image's build.
type Build struct {
	Context    string            `json:"context"`        // directory, relative to sett.yml; default "."
	Dockerfile string            `json:"dockerfile"`     // relative to Context; default "Dockerfile"
	Args       map[string]string `json:"args,omitempty"` // build arguments
}

// Slots is the number of grants that the agent's own unit runs at once.
func (a Agent) Slots() int { return max(a.Concurrency, 1) }

// Trees are the names of the private trees of an agent's tools: one, or one for each grant,
// or worker that runs or waits, at the same time. None: it has no workspace.
func (a Agent) Trees() []string {
	if a.Workspace.Mode == blackboard.NoWorkspace {
		return nil
	}
	switch n := a.Slots(); {
	case a.Fresh():
	case n == 1:
		return []string{a.Name}
	default:
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf("%s%s%d", a.Name, slotTree, i+1)
		}
		return all
	}
	all := make([]string, a.Replicas+a.Warm)
	for i := range all {
		all[i] = fmt.Sprintf("%s.%d", a.Name, i+1)
	}
	return all
}

// slotTree is between an agent's name and the number of a slot in the name of its tree.
const slotTree = ".slot-"

// SlotOf returns the number of the slot that a tree of this name belongs to, from 1; 0: it
// is an agent's or a worker's only one.
func SlotOf(tree string) int {
	_, after, _ := strings.Cut(tree, slotTree) // no agent's name has a dot
	n, err := strconv.Atoi(after)
	if err != nil {
		return 0
	}
	return n
}

// HasTrees says whether an agent has a private tree.
func (c *Config) HasTrees() bool {
	return slices.ContainsFunc(c.Agents, func(a Agent) bool { return len(a.Trees()) > 0 })
}

// Workspace is an agent's access to the repository.
type Workspace struct {
	Mode blackboard.WorkspaceMode `json:"mode"` // default blackboard.ReadOnly
	// In bytes, above 0.
	MaxSize int64 `json:"max_size"` // that one commit, or what a tool leaves, may bring; default DefaultMaxSize
	MaxTree int64 `json:"max_tree"` // of the tree's files; default DefaultMaxTree
	MinFree int64 `json:"min_free"` // of the tree's file system; default DefaultMinFree

	// Paths of the repository, clean and with slashes; nil: none.
	Keep   []string `json:"keep,omitempty"`   // that are not committed, and survive in the agent's own tree
	Copy   []string `json:"copy,omitempty"`   // files of the user's that are not committed, of which the tree gets copies
	Sparse []string `json:"sparse,omitempty"` // folders that the tree has, beside the files above them; none: all
}

// EnvVar is one variable of a tool's environment.
type EnvVar struct {
	Name    string `json:"name"`
	Value   string `json:"value,omitempty"`   // as written, with references to the host's variables; empty when inherited
	Inherit bool   `json:"inherit,omitempty"` // the value is the host's
}

// Resources bounds an agent's container.
type Resources struct {
	Limits       Resource `json:"limits"`
	Reservations Resource `json:"reservations"`
}

// Resource is an amount of computing power. Zero means: not given.
type Resource struct {
	CPUs   float64 `json:"cpus,omitempty"`   // processors, may be a fraction
	Memory int64   `json:"memory,omitempty"` // bytes
	Pids   int     `json:"pids,omitempty"`   // processes and threads; of Limits only
}

// Prompts are texts for agents that ask a language model.
type Prompts struct {
	Claim     string `json:"claim,omitempty"`
	Execution string `json:"execution,omitempty"`
}

// HealthCheck has the settings of an agent's health check.
type HealthCheck struct {
	Interval    time.Duration `json:"interval"`     // default 30s, above 0
	Timeout     time.Duration `json:"timeout"`      // default 30s, above 0
	Retries     int           `json:"retries"`      // failures in a row that count; default 3, at least 1
	StartPeriod time.Duration `json:"start_period"` // in which failures do not count; default 0
}

// Services are the containers of Sett itself.
type Services struct {
	Redis        RedisService        `json:"redis"`
	Orchestrator OrchestratorService `json:"orchestrator"`
	Repository   RepositoryService   `json:"repository"`
	ModelGateway ModelGatewayService `json:"model_gateway,omitzero"`
}

// RedisService is the blackboard's server.
type RedisService struct {
	Image    string `json:"image"`         // default DefaultRedisImage
	URL      string `json:"url,omitempty"` // of a server to use instead; always equal to Redis.URL
	Embedded bool   `json:"embedded"`      // sett's own server instead of Redis; processes without a URL have no other
}

// OrchestratorService is the control container.
type OrchestratorService struct {
	Image string `json:"image,omitempty"` // empty: the one that sett builds from itself
}

// RepositoryService is the unit of the repository role, which prepares agents' private
// trees. It runs while an agent has one.
type RepositoryService struct {
	Image string `json:"image"` // with git; default DefaultRepositoryImage
	// The parts of its container on this engine, or the sett of its process, and the
	// reach of its network. Never in sett.yml: `sett up` finds them.
	Resolved *Resolved `json:"resolved,omitempty"`
	Network  string    `json:"network,omitempty"`
}

// ModelGatewayService is the unit of the model gateway. It runs while there are models.
type ModelGatewayService struct {
	// The image of its container and a keyed digest of its keys, or the sett of its
	// process. Never in sett.yml: `sett up` finds them.
	Resolved *Resolved `json:"resolved,omitempty"`
}

// Notify is a program that runs with an event on its stdin for each question, each
// gate and each end of a workflow.
type Notify struct {
	Command     []string      `json:"command"`         // program and arguments, never a shell
	Image       string        `json:"image,omitempty"` // under docker; empty: that of the first agent
	Environment []EnvVar      `json:"environment"`     // in file order, each name once
	Timeout     time.Duration `json:"timeout"`         // of one run, above 0
	// The parts of its container on this engine. Never in sett.yml: `sett up` finds
	// them. Nil for a process.
	Resolved *Resolved `json:"resolved,omitempty"`
}

// Orchestrator is the policy for claims and grants.
type Orchestrator struct {
	Run                 string        `json:"run"`                   // RunContainer or RunHost; always RunHost without docker
	MaxReviewIterations int           `json:"max_review_iterations"` // reworks of one thread; 0: unlimited
	BidTimeout          time.Duration `json:"bid_timeout"`           // until silence is a bid to ignore; 0: never
	MaxArtefacts        int           `json:"max_artefacts"`         // of one workflow; 0: unlimited
	QuestionTimeout     time.Duration `json:"question_timeout"`      // until an unanswered question is a Failure; 0: never
	OnReviewLimit       string        `json:"on_review_limit"`       // ReviewLimitFail or ReviewLimitAsk
}

// Redis is the connection to the blackboard.
type Redis struct {
	URL     string        `json:"url,omitempty"`     // of a server of the user's own; empty: Sett starts one
	CAFile  string        `json:"ca_file,omitempty"` // certificates that alone are trusted for a rediss:// URL, PEM; empty: those of known authorities
	GiveUp  time.Duration `json:"give_up"`           // unreachable for so long: the process ends; above 0
	Timeout time.Duration `json:"timeout"`           // of one call, above 0
	Retries int           `json:"retries"`           // of a call that did not reach Redis, beyond the first try
}

// Agent returns the agent of that name.
func (c *Config) Agent(name string) (Agent, bool) {
	for _, a := range c.Agents {
		if a.Name == name {
			return a, true
		}
	}
	return Agent{}, false
}

// Names returns the agents' names in file order.
func (c *Config) Names() []string {
	names := make([]string, len(c.Agents))
	for i, a := range c.Agents {
		names[i] = a.Name
	}
	return names
}

// Fresh says whether every grant gets a worker of its own.
func (a Agent) Fresh() bool { return a.Strategy == StrategyFreshPerCall }

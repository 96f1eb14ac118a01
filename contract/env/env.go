// Package env is the contract between a role and its starter: the names of the
// environment variables, and the functions that write and read them. It reads no
// environment itself; callers pass a look-up.
package env

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"sett/blackboard"
	"sett/contract/config"
)

// The variables of the specification (spec/agent-pup.md, section 6).
const (
	Instance        = "SETT_INSTANCE_NAME"
	Agent           = "SETT_AGENT_NAME"
	RedisURL        = "REDIS_URL" // holds the credentials; never reaches a tool
	PromptClaim     = "SETT_PROMPT_CLAIM"
	PromptExecution = "SETT_PROMPT_EXECUTION"
	Command         = "SETT_AGENT_COMMAND" // JSON array
)

// The variables that Sett adds. Durations are written as in Go: 5m, 1.5s.
const (
	Role          = "SETT_AGENT_ROLE"          // default: the agent's name
	Strategy      = "SETT_AGENT_STRATEGY"      // reuse (default) or fresh_per_call
	Adapter       = "SETT_AGENT_ADAPTER"       // JSON object of config.Adapter; default: {}
	Commits       = "SETT_AGENT_COMMITS"       // JSON array of artefact types whose payload is a commit, besides CodeCommit
	Bids          = "SETT_AGENT_BIDS"          // JSON array of {"type","bid"}
	BidScript     = "SETT_AGENT_BID_SCRIPT"    // JSON array
	BidsRequired  = "SETT_AGENT_BIDS_REQUIRED" // true: without a bid of the script, the claim waits; default: false
	Timeout       = "SETT_AGENT_TIMEOUT"       // of one run of the tool; default 5m
	Grace         = "SETT_STOP_GRACE_PERIOD"   // for a running tool when the cub is stopped; default 10s
	Workspace     = "SETT_WORKSPACE"           // the tool's directory; default /workspace
	WorkspaceMode = "SETT_WORKSPACE_MODE"      // of its tree: ro, rw or none (default)
	RepositoryURL = "SETT_REPOSITORY_URL"      // of the repository role, which prepares the tree; required with a mode of ro or rw
	TreeToken     = "SETT_REPOSITORY_TOKEN"    // the agent's token there; required with it
	Tree          = "SETT_TREE"                // the name of the tree; default: the agent's name
	MaxSize       = "SETT_MAX_SIZE"            // the most bytes that a commit may bring; default 1 GiB
	MaxTree       = "SETT_MAX_TREE"            // the tool is stopped when its tree takes more bytes; default 10 GiB
	MinFree       = "SETT_MIN_FREE"            // the tool is stopped when its disk has fewer bytes left; default 1 GiB
	Incarnation   = "SETT_INCARNATION"         // the holder of the grants; default: a new id
	Run           = "SETT_RUN"                 // the `sett up` it belongs to
	ConfigDigest  = "SETT_CONFIG_DIGEST"       // of the agent's part of sett.yml
	Pin           = "SETT_PIN"                 // directory with the clan's pinned files, as in the repository; unset: the agent uses none
	PinDigest     = "SETT_PIN_DIGEST"          // of those files, for the ledger
	Image         = "SETT_AGENT_IMAGE"         // id of the container's image, for the ledger
	HealthAddr    = "SETT_HEALTH_ADDR"         // of /healthz and /metrics; default :8080, "off" for none
	RedisTimeout  = "SETT_REDIS_TIMEOUT"       // of one call; default 2s
	RedisRetries  = "SETT_REDIS_RETRIES"       // default 5
	RedisGiveUp   = "SETT_REDIS_GIVE_UP"       // after so long without Redis the process ends; default 5m
	RedisCAFile   = "SETT_REDIS_CA_FILE"       // PEM, for rediss://
	BoardMark     = "SETT_BOARD_MARK"          // the blackboard as it was seen; another one is refused. Default: the first that is met counts
	LogFormat     = "SETT_LOG_FORMAT"          // json or text; default: text on a terminal
	LogLevel      = "SETT_LOG_LEVEL"           // debug, info (default), warn, error
	StateDir      = "SETT_STATE_DIR"           // of the instance, for local mode
	Pins          = "SETT_PINS"                // directory on the agents' machine with a directory for each set of pinned files, for the orchestrator
	Config        = "SETT_CONFIG"              // file with the resolved configuration, for the orchestrator
	ToolNetwork   = "SETT_TOOL_NETWORK"        // the hosts that the tool may reach: none, internal or full (default)
	Lease         = "SETT_LEADER_LEASE"        // the orchestrator leads for so long without renewal; default 10s
	ClaimID       = "SETT_CLAIM_ID"            // set for tools: the claim they work on
	Attempt       = "SETT_ATTEMPT"             // set for tools: 1 for the first
	Unit          = "SETT_UNIT"                // marks the processes of a unit of local mode
	Token         = "SETT_BLACKBOARD_PASSWORD" // of the embedded blackboard
	ListenAddr    = "SETT_BLACKBOARD_ADDR"     // of the embedded blackboard
	DefaultName   = "SETT_INSTANCE"            // for people: the instance of CLI commands
	OwnRedis      = "SETT_REDIS_URL"           // for people: the URL of sett up --redis-url, which may hold passwords
	HostValues    = "SETT_HOST_VALUES"         // JSON object of the host's variables that sett.yml gives programs, for the orchestrator
	Credentials   = "SETT_CREDENTIALS_FD"      // number of a descriptor with the variables of Secret, each ended by a NUL byte
)

// The variables of an orchestrator with agents in containers.
const (
	Runtime        = "SETT_RUNTIME"          // where agents run: docker or process; default: process where StateDir is set, else nowhere
	AgentsRedisURL = "SETT_AGENTS_REDIS_URL" // the blackboard as agents' containers see it; names no user: each agent gets its own
	AgentsUser     = "SETT_AGENTS_USER"      // uid:gid of agents' containers
	ControlImage   = "SETT_CONTROL_IMAGE"    // the image with nothing but the sett binary
	WorkspaceExtra = "SETT_WORKSPACE_EXTRA"  // directories that the workspace needs, as a path list; agents see them at the same paths
	LogDir         = "SETT_LOG_DIR"          // keeps the logs of removed containers
	EngineHost     = "DOCKER_HOST"           // the engine's address, such as unix:///run/docker.sock
)

// Secret lists the variables no tool may see.
var Secret = []string{RedisURL, Token, AgentsRedisURL, OwnRedis, HostValues, RepositoryKey, TreeToken}

// Values reads the variable HostValues.
func (r *Reader) Values() map[string]string {
	values := map[string]string{}
	r.array(HostValues, &values, "the JSON object that sett up gives")
	return values
}

// Redis has the address of the blackboard and the limits of calls to it.
type Redis struct {
	URL     string
	Timeout time.Duration
	Retries int
	GiveUp  time.Duration
	CAFile  string
	Mark    blackboard.Mark // of the blackboard, as it was seen
}

// Cub has the settings of a cub.
type Cub struct {
	Instance, Agent, Role string
	Redis                 Redis
	Command               []string
	BidScript             []string
	BidsRequired          bool
	Bids                  []config.BidRule
	Commits               []string
	Adapter               config.Adapter
	PromptClaim           string
	PromptExecution       string
	Fresh                 bool // strategy fresh_per_call
	Timeout, Grace        time.Duration
	Workspace             string
	Mode                  blackboard.WorkspaceMode
	RepositoryURL         string // empty: the tool has no tree
	TreeToken             string
	Tree                  string           // default: Agent
	Limits                config.Workspace // its sizes
	Incarnation           string           // empty: the cub makes one
	Run, ConfigDigest     string
	Image                 string // id; empty: no container
	Pin, PinDigest        string
	HealthAddr            string
	Network               string // config.NetworkNone, NetworkInternal or NetworkFull
}

// Of returns a cub's variables for an agent of sett.yml.
func Of(a config.Agent) Cub {
	return Cub{
		Agent: a.Name, Role: a.Role, Command: a.Command, BidScript: a.BidScript, BidsRequired: a.BidsRequired, Bids: a.Bids, Commits: a.Commits, Adapter: a.Adapter,
		PromptClaim: a.Prompts.Claim, PromptExecution: a.Prompts.Execution, Fresh: a.Fresh(),
		Timeout: a.Timeout, Grace: a.Grace, Mode: a.Workspace.Mode, Limits: a.Workspace, ConfigDigest: a.PublicDigest(),
		Network: a.Network,
	}
}

// Environ writes the variables in a fixed order, without the empty ones.
func (c Cub) Environ() []string {
	strategy, grace, required := "", span(c.Grace), ""
	if c.Agent != "" {
		grace = c.Grace.String() // zero is a choice too
	}
	if c.Fresh {
		strategy = "fresh_per_call"
	}
	if c.BidsRequired {
		required = "true"
	}
	adapter := ""
	if !reflect.ValueOf(c.Adapter).IsZero() {
		adapter = encoded(c.Adapter)
	}
	var out []string
	for _, v := range []struct{ name, value string }{
		{Instance, c.Instance}, {Agent, c.Agent}, {Role, c.Role}, {Command, list(c.Command)}, {BidScript, list(c.BidScript)}, {BidsRequired, required},
		{Bids, list(c.Bids)}, {Commits, list(c.Commits)}, {Adapter, adapter}, {PromptClaim, c.PromptClaim}, {PromptExecution, c.PromptExecution}, {Strategy, strategy},
		{Timeout, span(c.Timeout)}, {Grace, grace}, {Workspace, c.Workspace}, {WorkspaceMode, string(c.Mode)},
		{RepositoryURL, c.RepositoryURL}, {TreeToken, c.TreeToken}, {Tree, c.Tree},
		{MaxSize, size(c.Limits.MaxSize)}, {MaxTree, size(c.Limits.MaxTree)}, {MinFree, size(c.Limits.MinFree)},
		{Incarnation, c.Incarnation}, {Run, c.Run}, {ConfigDigest, c.ConfigDigest}, {Image, c.Image}, {Pin, c.Pin}, {PinDigest, c.PinDigest}, {HealthAddr, c.HealthAddr},
		{ToolNetwork, c.Network},
	} {
		if v.value != "" {
			out = append(out, v.name+"="+v.value)
		}
	}
	return append(out, c.Redis.Environ()...)
}

// BoardRetries returns the retries as redis.Options counts them: 0 is the default,
// -1 is none.
func (r Redis) BoardRetries() int {
	if r.Retries == 0 {
		return -1
	}
	return r.Retries
}

// Environ writes the variables of the blackboard connection.
func (r Redis) Environ() []string {
	var out []string
	for _, v := range []struct{ name, value string }{
		{RedisURL, r.URL}, {RedisTimeout, span(r.Timeout)}, {RedisGiveUp, span(r.GiveUp)}, {RedisCAFile, r.CAFile},
		{BoardMark, r.Mark.String()},
	} {
		if v.value != "" {
			out = append(out, v.name+"="+v.value)
		}
	}
	if r.URL != "" {
		out = append(out, RedisRetries+"="+strconv.Itoa(r.Retries))
	}
	return out
}

func list[T any](v []T) string {
	if len(v) == 0 {
		return ""
	}
	return encoded(v)
}

func encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

func span(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func size(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// size reads a number of bytes above 0.
func (r *Reader) size(name string, byDefault int64) int64 {
	text := r.Or(name, "")
	if text == "" {
		return byDefault
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		r.wrong(name, text, "a number of bytes above 0")
		return byDefault
	}
	return n
}

// Errors lists every missing or broken variable, each with the expected form.
type Errors []string

func (e Errors) Error() string { return strings.Join(e, "\n") }

// Reader reads variables and collects their errors.
type Reader struct {
	Lookup   func(string) (string, bool)
	problems Errors
}

// Err returns the errors of the variables read so far, or nil.
func (r *Reader) Err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return r.problems
}

func (r *Reader) wrong(name, value, want string) {
	if value == "" {
		r.problems = append(r.problems, fmt.Sprintf("%s is not set; want %s", name, want))
		return
	}
	if slices.Contains(Secret, name) {
		value = "(not shown)"
	}
	r.problems = append(r.problems, fmt.Sprintf("%s is %q; want %s", name, value, want))
}

// Required reads a variable that must be set.
func (r *Reader) Required(name, want string) string {
	v, _ := r.Lookup(name)
	if v == "" {
		r.wrong(name, "", want)
	}
	return v
}

// Or reads a variable with a default.
func (r *Reader) Or(name, byDefault string) string {
	if v, ok := r.Lookup(name); ok && v != "" {
		return v
	}
	return byDefault
}

// OneOf reads a variable with one of a few words; the first is the default.
func (r *Reader) OneOf(name string, words ...string) string {
	v := r.Or(name, words[0])
	if !slices.Contains(words, v) {
		last := len(words) - 1
		r.wrong(name, v, strings.Join(words[:last], ", ")+" or "+words[last])
	}
	return v
}

// Span reads a duration, which must be positive.
func (r *Reader) Span(name string, byDefault time.Duration) time.Duration {
	v := r.Or(name, "")
	if v == "" {
		return byDefault
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 || (d == 0 && name != Grace) {
		r.wrong(name, v, "a positive duration such as 5m or 1.5s")
	}
	return d
}

func (r *Reader) array(name string, into any, want string) {
	v := r.Or(name, "")
	if v == "" {
		return
	}
	if err := json.Unmarshal([]byte(v), into); err != nil {
		r.wrong(name, v, want)
	}
}

// Redis reads the variables of the blackboard connection.
func (r *Reader) Redis() Redis {
	retries := 5
	if v := r.Or(RedisRetries, ""); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			r.wrong(RedisRetries, v, "a number of retries such as 5")
		}
		retries = n
	}
	mark, err := blackboard.ParseMark(r.Or(BoardMark, ""))
	if err != nil {
		r.wrong(BoardMark, r.Or(BoardMark, ""), "the mark that sett up gives")
	}
	return Redis{
		URL:     r.Required(RedisURL, "the blackboard, such as redis://:password@host:6379/0"),
		Timeout: r.Span(RedisTimeout, 2*time.Second), Retries: retries, GiveUp: r.Span(RedisGiveUp, 5*time.Minute),
		CAFile: r.Or(RedisCAFile, ""), Mark: mark,
	}
}

// ParseCub reads the settings of a cub. The error lists every wrong variable.
func ParseCub(lookup func(string) (string, bool)) (Cub, error) {
	r := &Reader{Lookup: lookup}
	c := Cub{
		Instance:    r.Required(Instance, "the instance's name, such as my-sett"),
		Agent:       r.Required(Agent, "the agent's name in sett.yml"),
		Redis:       r.Redis(),
		PromptClaim: r.Or(PromptClaim, ""), PromptExecution: r.Or(PromptExecution, ""),
		Timeout: r.Span(Timeout, 5*time.Minute), Grace: r.Span(Grace, 10*time.Second),
		Workspace:   r.Or(Workspace, "/workspace"),
		Mode:        blackboard.WorkspaceMode(r.OneOf(WorkspaceMode, string(blackboard.NoWorkspace), string(blackboard.ReadOnly), string(blackboard.ReadWrite))),
		Incarnation: r.Or(Incarnation, ""), Run: r.Or(Run, ""), ConfigDigest: r.Or(ConfigDigest, ""), Image: r.Or(Image, ""),
		Pin: r.Or(Pin, ""), PinDigest: r.Or(PinDigest, ""),
		HealthAddr:   r.Or(HealthAddr, ":8080"),
		Network:      r.OneOf(ToolNetwork, config.NetworkFull, config.NetworkInternal, config.NetworkNone),
		BidsRequired: r.OneOf(BidsRequired, "false", "true") == "true",
		Fresh:        r.OneOf(Strategy, config.StrategyReuse, config.StrategyFreshPerCall) == config.StrategyFreshPerCall,
	}
	c.Role, c.Tree = r.Or(Role, c.Agent), r.Or(Tree, c.Agent)
	c.Limits = config.Workspace{
		Mode: c.Mode, MaxSize: r.size(MaxSize, config.DefaultMaxSize), MaxTree: r.size(MaxTree, config.DefaultMaxTree), MinFree: r.size(MinFree, config.DefaultMinFree),
	}
	if c.Mode == blackboard.ReadOnly || c.Mode == blackboard.ReadWrite {
		c.RepositoryURL = r.Required(RepositoryURL, "the repository role, such as http://127.0.0.1:7070")
		c.TreeToken = r.Required(TreeToken, "the agent's token of the repository role")
	}
	c.readCommand(r)
	if c.Instance != "" {
		if err := config.ValidInstanceName(c.Instance); err != nil {
			r.wrong(Instance, c.Instance, "a valid instance name: "+err.Error())
		}
	}
	if blackboard.ReservedRole(c.Role) {
		r.wrong(Role, c.Role, "a role other than user, human and orchestrator")
	}
	return c, r.Err()
}

func (c *Cub) readCommand(r *Reader) {
	const want = `a JSON array such as ["/app/run.sh"]`
	r.Required(Command, want)
	before := len(r.problems)
	r.array(Command, &c.Command, want)
	if v := r.Or(Command, ""); v != "" && (len(c.Command) == 0 || c.Command[0] == "") && len(r.problems) == before {
		r.wrong(Command, v, want)
	}
	r.array(BidScript, &c.BidScript, want)
	r.array(Adapter, &c.Adapter, `a JSON object such as {"adapter":"check"}`)
	r.array(Commits, &c.Commits, `a JSON array such as ["TerraformCode"]`)
	r.array(Bids, &c.Bids, `a JSON array such as [{"type":"Code*","bid":"review"}]`)
}

// WithoutUnit returns an environment without the mark of its unit, so that it can
// start another unit.
func WithoutUnit(environ []string) []string {
	out := make([]string, 0, len(environ))
	for _, v := range environ {
		if !strings.HasPrefix(v, Unit+"=") {
			out = append(out, v)
		}
	}
	return out
}

// inherited are the variables of the host that every local process needs. All other
// variables of an agent are in sett.yml.
var inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE",
	"SSL_CERT_FILE", "SSL_CERT_DIR", LogFormat, LogLevel}

// Inherited returns the variables that every local unit inherits.
func Inherited(environ []string) []string {
	var out []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		for _, keep := range inherited {
			if name == keep {
				out = append(out, v)
			}
		}
	}
	return out
}

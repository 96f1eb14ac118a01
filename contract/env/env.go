// Package env is the contract between a role and its starter: the names of the
// environment variables, and the functions that write and read them. It reads no
// environment itself; callers pass a look-up.
package env

import (
	"encoding/json"
	"path"
	"strconv"
	"strings"
	"time"

	"sett/blackboard"
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
	Traces        = "SETT_TRACES"              // on: the tool gets TraceParent; default: off
	BidScript     = "SETT_AGENT_BID_SCRIPT"    // JSON array
	BidsRequired  = "SETT_AGENT_BIDS_REQUIRED" // true: without a bid of the script, the claim waits; default: false
	Timeout       = "SETT_AGENT_TIMEOUT"       // of one run of the tool; default 5m
	Grace         = "SETT_STOP_GRACE_PERIOD"   // for a running tool when the cub is stopped; default 10s
	Workspace     = "SETT_WORKSPACE"           // the tool's directory; default /workspace
	WorkspaceMode = "SETT_WORKSPACE_MODE"      // of its tree: ro, rw or none (default)
	RepositoryURL = "SETT_REPOSITORY_URL"      // of the repository role, which prepares the tree; required with a mode of ro or rw
	TreeToken     = "SETT_REPOSITORY_TOKEN"    // the agent's token there; required with it
	Tree          = "SETT_TREE"                // the name of the tree; default: the agent's name
	Slots         = "SETT_AGENT_SLOTS"         // JSON array of Slot: the cub runs a grant in each at the same time; default: one, as Workspace and Tree say
	MaxSize       = "SETT_MAX_SIZE"            // the most bytes that a commit may bring; default 1 GiB
	MaxTree       = "SETT_MAX_TREE"            // the tool is stopped when its tree takes more bytes; default 10 GiB
	MinFree       = "SETT_MIN_FREE"            // the tool is stopped when its disk has fewer bytes left; default 1 GiB
	Incarnation   = "SETT_INCARNATION"         // the holder of the grants; default: a new id
	Run           = "SETT_RUN"                 // the `sett up` it belongs to
	ConfigDigest  = "SETT_CONFIG_DIGEST"       // of the agent's part of sett.yml
	Pin           = "SETT_PIN"                 // directory with the clan's pinned files, as in the repository; unset: the agent uses none
	PinDigest     = "SETT_PIN_DIGEST"          // of those files, for the ledger
	Lacks         = "SETT_AGENT_LACKS"         // the program of its commands that the repository has not; default: there is none
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
	ToolWalls     = "SETT_TOOL_WALLS"          // JSON object of Walls; default: none
	Courses       = "SETT_COURSES"             // off: the orchestrator decides about every claim itself; default on
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
	AgentsRedisCA  = "SETT_AGENTS_REDIS_CA"  // directory on the agents' host with the file ca.pem, the certificates for rediss:// that containers trust alone; unset: known authorities
	AgentsUser     = "SETT_AGENTS_USER"      // uid:gid of agents' containers
	ControlImage   = "SETT_CONTROL_IMAGE"    // the image with nothing but the sett binary
	WorkspaceExtra = "SETT_WORKSPACE_EXTRA"  // directories that the workspace needs, as a path list; agents see them at the same paths
	LogDir         = "SETT_LOG_DIR"          // keeps the logs of removed containers
	EngineHost     = "DOCKER_HOST"           // the engine's address, such as unix:///run/docker.sock
)

// Secret lists the variables no tool may see.
var Secret = []string{RedisURL, Token, AgentsRedisURL, OwnRedis, HostValues, RepositoryKey, TreeToken, GatewayKey, ModelToken, ModelSecrets}

// Redis has the address of the blackboard and the limits of calls to it.
type Redis struct {
	URL     string
	Timeout time.Duration
	Retries int
	GiveUp  time.Duration
	CAFile  string
	Mark    blackboard.Mark // of the blackboard, as it was seen
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

// Home is the user's home directory by a look-up of variables; empty: there is none. A
// relative HOME counts as none, as the XDG specification says of its own variables: it
// would be another directory for each part, and one in the repository for most.
func Home(getenv func(string) string) string {
	if home := getenv("HOME"); path.IsAbs(home) {
		return home
	}
	return ""
}

// Inherited returns the variables that every local unit inherits.
func Inherited(environ []string) []string {
	var out []string
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if name == "HOME" && Home(func(string) string { return value }) == "" {
			continue
		}
		for _, keep := range inherited {
			if name == keep {
				out = append(out, v)
			}
		}
	}
	return out
}

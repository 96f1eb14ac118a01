package env

import (
	"reflect"
	"slices"
	"time"

	"sett/blackboard"
	"sett/contract/config"
)

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
	Slots                 []Slot           // for several grants at once; nil: one
	Limits                config.Workspace // its sizes
	Incarnation           string           // empty: the cub makes one
	Run, ConfigDigest     string
	Image                 string // id; empty: no container
	Pin, PinDigest        string
	Lacks                 string // the program that the repository has not
	HealthAddr            string
	Asks                  Asks   // its model
	Traced                bool   // the tool gets TraceParent
	Network               string // config.NetworkNone, NetworkInternal or NetworkFull
	Walls                 *Walls // nil: the tool reaches all files of its user
}

// Slot is the place of one of the grants that a cub runs at once.
type Slot struct {
	Workspace string `json:"workspace"`      // the tool's directory
	Tree      string `json:"tree,omitempty"` // empty: there is none
	Walls     *Walls `json:"walls,omitempty"`
}

// InSlot returns the settings for the tool in a slot, from 1 to SlotCount: its places are
// those of the slot.
func (c Cub) InSlot(number int) Cub {
	if len(c.Slots) > 0 {
		s := c.Slots[number-1]
		c.Workspace, c.Tree, c.Walls = s.Workspace, s.Tree, s.Walls
	}
	return c
}

// SlotCount is the number of grants that the cub runs at once.
func (c Cub) SlotCount() int { return max(len(c.Slots), 1) }

// Of returns a cub's variables for an agent of sett.yml.
func Of(a config.Agent) Cub {
	lacks := ""
	if a.Resolved != nil {
		lacks = a.Resolved.Lacks
	}
	return Cub{
		Lacks: lacks,
		Agent: a.Name, Role: a.Role, Command: a.Command, BidScript: a.BidScript, BidsRequired: a.BidsRequired, Bids: a.Bids, Commits: a.Commits, Adapter: a.Adapter,
		PromptClaim: a.Prompts.Claim, PromptExecution: a.Prompts.Execution, Fresh: a.Fresh(),
		Timeout: a.Timeout, Grace: a.Grace, Mode: a.Workspace.Mode, Limits: a.Workspace, ConfigDigest: a.PublicDigest(),
		Network: a.Network, Traced: a.Traced,
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
	traces := ""
	if c.Traced {
		traces = "on"
	}
	adapter := ""
	if !reflect.ValueOf(c.Adapter).IsZero() {
		adapter = encoded(c.Adapter)
	}
	walls := ""
	if c.Walls != nil {
		walls = encoded(c.Walls)
	}
	var out []string
	for _, v := range []struct{ name, value string }{
		{Instance, c.Instance}, {Agent, c.Agent}, {Role, c.Role}, {Command, list(c.Command)}, {BidScript, list(c.BidScript)}, {BidsRequired, required},
		{Bids, list(c.Bids)}, {Commits, list(c.Commits)}, {Traces, traces}, {Adapter, adapter}, {PromptClaim, c.PromptClaim}, {PromptExecution, c.PromptExecution}, {Strategy, strategy},
		{Timeout, span(c.Timeout)}, {Grace, grace}, {Workspace, c.Workspace}, {WorkspaceMode, string(c.Mode)},
		{RepositoryURL, c.RepositoryURL}, {TreeToken, c.TreeToken}, {Tree, c.Tree}, {Slots, list(c.Slots)},
		{MaxSize, size(c.Limits.MaxSize)}, {MaxTree, size(c.Limits.MaxTree)}, {MinFree, size(c.Limits.MinFree)},
		{Incarnation, c.Incarnation}, {Run, c.Run}, {ConfigDigest, c.ConfigDigest}, {Image, c.Image}, {Pin, c.Pin}, {PinDigest, c.PinDigest}, {Lacks, c.Lacks}, {HealthAddr, c.HealthAddr},
		{ToolNetwork, c.Network}, {ToolWalls, walls},
	} {
		if v.value != "" {
			out = append(out, v.name+"="+v.value)
		}
	}
	for _, v := range c.Asks.variables() {
		if v[1] != "" {
			out = append(out, v[0]+"="+v[1])
		}
	}
	return append(out, c.Redis.Environ()...)
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
		Pin: r.Or(Pin, ""), PinDigest: r.Or(PinDigest, ""), Lacks: r.Or(Lacks, ""),
		HealthAddr:   r.Or(HealthAddr, ":8080"),
		Network:      r.OneOf(ToolNetwork, config.NetworkFull, config.NetworkInternal, config.NetworkNone),
		Traced:       r.OneOf(Traces, "off", "on") == "on",
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
	c.Asks = r.asks()
	c.readCommand(r)
	if slices.ContainsFunc(c.Slots, func(s Slot) bool { return s.Workspace == "" }) {
		r.wrong(Slots, r.Or(Slots, ""), "a workspace for each")
	}
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
	r.array(ToolWalls, &c.Walls, `a JSON object such as {"write":["/srv/tree"],"tmp":"/srv/tmp"}`)
	r.array(Slots, &c.Slots, `a JSON array such as [{"workspace":"/workspace/1","tree":"writer.slot-1"}]`)
	r.array(Bids, &c.Bids, `a JSON array such as [{"type":"Code*","bid":"review"}]`)
}

package config

import "sett/blackboard"

// The rules of resolve, resolveStrategy, resolveConcurrency, resolveRun and oneServer about keys that
// depend on each other, as far as a schema can say them.

// fileRules are the rules of the top level.
func fileRules() []*schema {
	process := within(&schema{Const: RuntimeProcess}, "runtime")
	process.Required = []string{"runtime"}
	embedded := within(&schema{Const: true}, "services", "redis", "embedded")
	require(embedded, "services", "redis", "embedded")
	return []*schema{
		{
			If: process,
			Then: &schema{AllOf: []*schema{
				within(&schema{Not: &schema{Const: RunContainer}}, "orchestrator", "run"),
				eachAgent(within(&schema{Not: &schema{Const: shellWord}}, "llm", "run"))}},
			Else: &schema{AnyOf: []*schema{shares("image"), shares("build"), shares("llm"), eachAgent(&schema{AnyOf: []*schema{
				{Required: []string{"image"}}, {Required: []string{"build"}}, ownLLM()}})}},
		},
		{AnyOf: []*schema{shares("command"), shares("llm"), eachAgent(&schema{Type: kinds{"object"}, AnyOf: []*schema{{Required: []string{"command"}}, {Required: []string{"llm"}}}})}},
		{If: &schema{Required: []string{"budget"}}, Then: &schema{Required: []string{"models"}}},
		{AnyOf: []*schema{{Required: []string{"models"}}, eachAgent(&schema{Not: &schema{Type: kinds{"object"}, Required: []string{"llm"}, Properties: pairs{{"llm", &schema{Type: kinds{"object"}}}}}})}},
		// With defaults the rules hold for the merged settings, which a schema cannot see.
		{AnyOf: []*schema{{Required: []string{"defaults"}}, eachAgent(&schema{AllOf: agentRules()})}},
		{
			If: embedded,
			Then: &schema{AllOf: []*schema{
				within(&schema{Not: &schema{Required: []string{"url"}}}, "redis"),
				within(&schema{Not: &schema{Required: []string{"url"}}}, "services", "redis"),
			}},
		},
	}
}

// shares says that all agents have a key by defaults.
func shares(key string) *schema {
	return &schema{Required: []string{"defaults"},
		Properties: pairs{{"defaults", &schema{Type: kinds{"object"}, Required: []string{key}}}}}
}

// eachAgent applies a schema to all agents.
func eachAgent(s *schema) *schema { return within(&schema{Additional: s}, "agents") }

// ownLLM fits an agent that is sett llm and starts no programs.
func ownLLM() *schema {
	others := []*schema{{Required: []string{"command"}}, {Required: []string{"bid_script"}}, inner("llm", "tools", &schema{Type: kinds{"array"}, Contains: &schema{Const: ToolRun}})}
	return &schema{Required: []string{"llm"}, Not: &schema{AnyOf: others}}
}

// inner wants a key within a key, with that value.
func inner(outer, inner string, value *schema) *schema {
	s := within(&schema{Type: kinds{"object"}, Required: []string{inner}, Properties: pairs{{inner, value}}}, outer)
	s.Required = []string{outer}
	return s
}

// agentRules are the rules of one agent's keys.
func agentRules() []*schema {
	one, two := 1, 2
	many := within(&schema{Minimum: &two}, "replicas")
	many.Required = []string{"replicas"}
	atOnce := within(&schema{Minimum: &two}, "concurrency")
	atOnce.Required = []string{"concurrency"}
	fresh := within(&schema{Const: StrategyFreshPerCall}, "strategy")
	fresh.Required = []string{"strategy"}
	warm := within(&schema{Minimum: &one}, "warm")
	warm.Required = []string{"warm"}
	ports := within(&schema{Const: true}, "isolated_ports")
	ports.Required = []string{"isolated_ports"}
	foreign := within(&schema{Enum: []any{AdapterCheck, AdapterText, AdapterCommit}}, "adapter")
	foreign.Required = []string{"adapter"}
	commit := within(&schema{Const: AdapterCommit}, "adapter")
	commit.Required = []string{"adapter"}
	writes := within(&schema{Const: blackboard.ReadWrite}, "workspace", "mode")
	require(writes, "workspace", "mode")
	noReview := within(&schema{Additional: &schema{Not: &schema{Const: blackboard.BidReview}}}, "bids")
	check := within(&schema{Const: AdapterCheck}, "adapter")
	check.Required = []string{"adapter"}
	onlyReviews := within(&schema{Additional: &schema{Not: &schema{Enum: []any{blackboard.BidClaim, blackboard.BidExclusive, BidModel}}}}, "bids")
	onlyReviews.Required = []string{"bids"}
	asks := within(&schema{Not: &schema{Additional: &schema{Not: &schema{Const: BidModel}}}}, "bids")
	asks.Required = []string{"bids"}
	runs := inner("llm", "tools", &schema{Type: kinds{"array"}, Contains: &schema{Const: ToolRun}})
	return []*schema{
		{If: &schema{AnyOf: []*schema{{Required: []string{"budget"}}, asks}}, Then: &schema{Required: []string{"llm"}}},
		{If: asks, Then: inner("prompts", "claim", &schema{})},
		{If: runs, Then: inner("llm", "run", &schema{}), Else: within(&schema{Not: &schema{Type: kinds{"object"}, Required: []string{"run"}}}, "llm")},
		{If: check, Then: within(&schema{Not: &schema{Const: StdinPrompt}}, "stdin")},
		{If: &schema{Required: []string{"fail_on"}}, Then: check},
		{If: foreign, Then: &schema{AllOf: []*schema{
			{AnyOf: []*schema{{Required: []string{"makes"}}, onlyReviews, commit}},
			within(&schema{MaxItems: &one}, "makes"),
		}}},
		{If: commit, Then: &schema{AllOf: []*schema{writes, noReview}}},
		{If: atOnce, Then: &schema{AllOf: []*schema{within(&schema{Maximum: one}, "replicas"), within(&schema{Not: &schema{Const: StrategyFreshPerCall}}, "strategy")}}},
		{If: many, Then: within(&schema{Not: &schema{Const: StrategyReuse}}, "strategy")},
		{If: &schema{AnyOf: []*schema{warm, ports}}, Then: &schema{AnyOf: []*schema{fresh, many}}},
	}
}

// within applies a schema to the value at a path of keys, if it exists.
func within(s *schema, path ...string) *schema {
	for i := len(path) - 1; i >= 0; i-- {
		s = &schema{Properties: pairs{{path[i], s}}}
	}
	return s
}

// require makes the value at a path of keys required.
func require(s *schema, path ...string) {
	for _, key := range path {
		s.Required, s.Type = []string{key}, kinds{"object"}
		s = s.Properties[0].value.(*schema)
	}
}

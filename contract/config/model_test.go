package config

import (
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/model"
)

const oneModel = "models: {m: {api: chat, model: x, api_key_env: K}}\n"

func agentsOf(agent string) string { return "agents: {" + agent + "}\n" }

func modelLine(settings string) string { return minimal + "models: {m: {" + settings + "}}\n" }

var modelCases = []problemCase{
	{"model without all", minimal + "models: {m: }\n", []string{"2:10: models.m has no api and no model | {api: chat"}},
	{"model without api", modelLine("model: x, api_key_env: K"), []string{"2:10: models.m has no api | chat, messages or responses"}},
	{"model without model", modelLine("api: chat, api_key_env: K"), []string{"2:10: models.m has no model"}},
	{"model misspelt", modelLine("api: chatt, model: x, base_ulr: http://h"), []string{`2:19: models.m.api: unknown value "chatt" | did you mean "chat"?`, `2:36: unknown key "base_ulr" in models.m | did you mean "base_url"?`}},
	{"model without key", modelLine("api: messages, model: x"), []string{"2:10: models.m has no key for https://api.anthropic.com/v1 | add api_key_env: ANTHROPIC_API_KEY"}},
	{"model with two keys", modelLine("api: chat, model: x, api_key_env: K, api_key_file: f"), []string{"2:51: models.m has both api_key_env and api_key_file"}},
	{"model with two folders", modelLine("api: chat, model: x, record: a, replay: b"), []string{"2:46: models.m has both record and replay"}},
	{"model's name", minimal + "models: {M_1: {api: chat, model: x, api_key_env: K}}\n", []string{`2:10: "M_1" cannot name a model`}},
	{"key itself", modelLine("api: chat, model: x, api_key_env: sk-123"), []string{"2:48: models.m.api_key_env: it cannot name a variable | not the key"}},
	{"password in base_url", modelLine("api: chat, model: x, base_url: 'http://me:pw@h/v1'"), []string{"2:45: models.m.base_url: a user or a password in the URL | api_key_env"}},
	{"base_url of one call", modelLine("api: chat, model: x, base_url: 'http://h/v1/chat/completions'"), []string{"2:45: models.m.base_url: the path is that of one call"}},
	{"base_url without scheme", modelLine("api: chat, model: x, base_url: 'h:1/v1'"), []string{"2:45: models.m.base_url: not a URL | https://host/v1"}},
	{"header of Sett", modelLine("api: chat, model: x, base_url: 'http://h', headers: {Sett-Agent: a, Host: b}"), []string{`2:67: models.m.headers: "Sett-Agent" is set by Sett`, `2:82: models.m.headers: "Host" is set`}},
	{"header twice", modelLine("api: chat, model: x, base_url: 'http://h', headers: {A: a, a: b}"), []string{`2:73: models.m.headers sets "a" twice`}},
	{"header with a line's end", modelLine("api: chat, model: x, base_url: 'http://h', headers: {A: \"a\\r\\nB: c\"}"), []string{"2:70: models.m.headers.A: control characters"}},
	{"price of input alone", modelLine("api: chat, model: x, api_key_env: K, price: {input: 1}"), []string{"2:58: models.m.price has no output"}},
	{"negative price", modelLine("api: chat, model: x, api_key_env: K, price: {input: -1, output: 1}"), []string{`2:66: models.m.price.input is not an amount of money: "-1"`}},
	{"tokens", modelLine("api: chat, model: x, api_key_env: K, context: 1G"), []string{`2:60: models.m.context is not a number of tokens: "1G" | k or M`}},
	{"hot", modelLine("api: chat, model: x, api_key_env: K, temperature: 3"), []string{`2:64: models.m.temperature is not a temperature: "3"`}},
	{"ignore that is no pattern", modelLine("api: chat, model: x, replay: r, ignore: ['(']"), []string{`2:55: models.m.ignore: "(" is no regular expression`}},

	{"budget without models", minimal + "budget: {cost: 1}\n", []string{"2:1: budget bounds the calls of models, and there are none | add models"}},
	{"budget of nothing", minimal + oneModel + "budget: {cost: 0, tokens: 0, on_budget: wait}\n", []string{"3:16: budget.cost is not an amount", "3:27: budget.tokens is not a number", `3:41: budget.on_budget: unknown value "wait" | did you mean "fail"?`}},
	{"budget of an agent without a model", agentLines("budget: {cost: 1}"), []string{"5:5: agents.a: budget bounds the calls of the agent's model, and it has none | add llm"}},

	{"llm without models", agentLines("llm: {model: m}"), []string{`5:5: agents.a.llm: no model has the name "m" | add models: {m: {api`}},
	{"llm misspelt", agentLines("llm: {model: mm}") + oneModel, []string{`5:5: agents.a.llm: no model has the name "mm" | one of: m`}},
	{"llm without a model", agentLines("llm: {tools: [search]}") + oneModel, []string{"5:10: agents.a.llm has no model | add model:"}},
	{"llm with an unknown tool", agentLines("llm: {model: m, tools: [edit, ran]}") + oneModel, []string{`5:35: agents.a.llm.tools: unknown value "ran" | did you mean "run"?`}},
	{"llm that runs nothing", agentLines("llm: {model: m, tools: [run]}") + oneModel, []string{"5:5: agents.a.llm: the tool run has no programs | add run: [NAME]"}},
	{"llm with programs alone", agentLines("llm: {model: m, run: [go]}") + oneModel, []string{"5:5: agents.a.llm: run has programs, and is not among tools"}},
	{"llm with a line to run", agentLines("llm: {model: m, tools: [run], run: go test}") + oneModel, []string{"5:40: agents.a.llm.run must be a list, not text | the word shell"}},
	{"llm with arguments to run", agentLines("llm: {model: m, tools: [run], run: [go test]}") + oneModel, []string{`5:41: agents.a.llm.run: "go test" cannot name a program`}},
	{"llm with a shell and no container", "runtime: process\n" + agentLines("llm: {model: m, tools: [run], run: shell}") + oneModel, []string{"6:5: agents.a.llm: run: shell needs runtime: docker"}},
	{"llm with tools and no tree", agentLines("llm: {model: m, tools: [search]}", "workspace: {mode: none}") + oneModel, []string{"5:5: agents.a.llm: tools work in a tree, and the agent has none"}},
	{"llm that runs without an image", "agents: {a: {llm: {model: m, tools: [run], run: [go]}}}\n" + oneModel, []string{"1:10: agents.a has neither image nor build"}},
	{"llm with a program without an image", "agents: {a: {command: [x], llm: {model: m}}}\n" + oneModel, []string{"1:10: agents.a has neither image nor build"}},
	{"llm without a door", agentsOf("a: {llm: {model: m, door: false}}") + oneModel, []string{"1:14: agents.a.llm: sett llm reaches its model by the door"}},
	{"bid of no model", agentLines("bids: {X: model}"), []string{"5:5: agents.a.bids: model asks the agent's model, and it has none | add llm"}},
	{"bid of a model without a prompt", agentLines("bids: {X: model}", "llm: {model: m}") + oneModel, []string{"5:5: agents.a.bids: model decides by prompts.claim, which is empty"}},
	{"check with a prompt", agentLines("adapter: check", "stdin: prompt", "bids: {X: review}"), []string{"6:5: agents.a: stdin: prompt is not for adapter: check | use adapter: text"}},
}

func TestModelDefaults(t *testing.T) {
	c := mustParse(t, "agents: {a: {llm: {model: c}}, b: {image: i, command: [x], llm: {model: l}}}\n"+
		"models:\n  c: {api: messages, model: x, api_key_env: K, price: {input: 2, cached: 0, output: 5}}\n  l: {api: chat, model: y, base_url: 'http://host:11434/'}\n")
	a, m := c.Agents[0], c.Models[0]
	if m.BaseURL != "https://api.anthropic.com/v1" || m.Retries != 3 || m.Concurrency != 64 || m.Price.Cached != 0 || m.Price.CacheWrite != 2*model.Unit {
		t.Errorf("got %+v, price %+v", m, m.Price)
	}
	if got := c.Models[1].BaseURL; got != "http://host:11434/v1" {
		t.Errorf("base_url %s", got)
	}
	if !a.OwnLLM() || a.NeedsImage() || !a.LLM.Door || a.LLM.Steps != 100 || c.Agents[1].OwnLLM() || !c.Agents[1].NeedsImage() {
		t.Errorf("agents %+v", c.Agents)
	}
	if m, ok := c.ModelOf(c.Agents[1]); !ok || m.Model != "y" {
		t.Errorf("model of b: %+v", m)
	}
}

// TestLimitOfModel: an agent learns the field of a chat with the limit, since it does not see the provider's address.
func TestLimitOfModel(t *testing.T) {
	c := mustParse(t, "agents: {a: {llm: {model: a}}, b: {llm: {model: b}}, c: {llm: {model: c}}}\n"+
		"models:\n  a: {api: chat, model: x, api_key_env: K}\n  b: {api: chat, model: y, base_url: 'http://host:11434/'}\n  c: {api: responses, model: z, api_key_env: K}\n")
	for i, want := range []string{model.MaxCompletionTokens, "", ""} {
		if got := c.Agents[i].LLM.Asks.Limit; got != want {
			t.Errorf("agent %s: %q, want %q", c.Agents[i].Name, got, want)
		}
	}
}

func TestChooseModel(t *testing.T) {
	all := "models: {m: {api: chat, model: x, api_key_env: K}}\nagents:\n" +
		"  all: {llm: {model: m}, prompts: {claim: c}}\n  none: {llm: {model: m}}\n  text: {image: i, command: [x], prompts: {claim: c}}\n" +
		"  some: {llm: {model: m}, prompts: {claim: c}, bids: {A: model, B: review}}\n  script: {image: i, llm: {model: m}, prompts: {claim: c}, bid_script: [x]}\n"
	c := mustParse(t, all)
	for name, want := range map[string][3]blackboard.BidType{ // on A, on B, on its own
		"all": {BidModel, BidModel, "ignore"}, "none": {"exclusive", "exclusive", "ignore"}, "text": {"exclusive", "exclusive", "ignore"},
		"some": {BidModel, "review", BidModel},
	} {
		a, _ := c.Agent(name)
		got := [3]blackboard.BidType{ChooseBid(a, blackboard.Target{Type: "A"}).Bid, ChooseBid(a, blackboard.Target{Type: "B"}).Bid, ChooseBid(a, blackboard.Target{Type: "A", Agent: name}).Bid}
		if got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if a, _ := c.Agent("script"); a.BidsByModel("A") {
		t.Error("a script's agent asks its model")
	}
}

// The gateway restarts for each of its settings, agents for theirs alone.
func TestDiffModels(t *testing.T) {
	const base = "agents: {a: {llm: {model: m}}, b: {image: i, command: [x]}}\nmodels: {m: {api: chat, model: x, api_key_env: K}, n: {api: chat, model: y, api_key_env: K}}\n"
	for name, c := range map[string]struct {
		source string
		want   Changes
	}{
		"a model's name":  {strings.Replace(base, "model: x", "model: z", 1), Changes{Changed: []string{"a"}, Models: true}},
		"another model":   {strings.Replace(base, "{model: m}", "{model: n}", 1), Changes{Changed: []string{"a"}, Models: true}},
		"a goal's budget": {base + "budget: {calls: 1}\n", Changes{Models: true}},
		"its own budget":  {strings.Replace(base, "{model: m}", "{model: m}, budget: {calls: 1}", 1), Changes{Models: true}},
		"retries":         {strings.Replace(base, "model: x", "model: x, retries: 9", 1), Changes{Models: true}},
		"steps":           {strings.Replace(base, "{model: m}", "{model: m, steps: 3}", 1), Changes{Changed: []string{"a"}}},
		"none":            {"agents: {a: {image: i, command: [x]}, b: {image: i, command: [x]}}\n", Changes{Changed: []string{"a"}, Models: true}},
	} {
		if got := Diff(mustParse(t, base), mustParse(t, c.source)); !slices.Equal(got.Changed, c.want.Changed) || got.Models != c.want.Models || got.Instance {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if mustParse(t, minimal).ModelsDigest() != "" {
		t.Error("without models the gateway runs")
	}
}

func TestModelSecretsAreMasked(t *testing.T) {
	c := mustParse(t, modelLine("api: chat, model: x, base_url: 'http://h', headers: {X-Api-Key: hush, Authorization: '${A:-hush}', X-Org: mine, Cookie: '${C}'}"))
	shown, some := c.WithoutSecrets()
	h := shown.Models[0].Headers
	if !some || h[0].Value != Masked || h[1].Value != Masked && !strings.Contains(h[1].Value, "A") || h[2].Value != "mine" || h[3].Value != "${C}" || strings.Contains(h[1].Value, "hush") {
		t.Errorf("shown %+v", h)
	}
	if c.Models[0].Headers[0].Value != "hush" {
		t.Error("the original is masked, too")
	}
}

// A budget of money alone does not see a model without a price.
func TestPricelessBudget(t *testing.T) {
	for source, want := range map[string]int{
		"budget: {cost: 1}\n": 1, "budget: {cost: 1, tokens: 1M}\n": 0, "budget: {calls: 1}\n": 0,
	} {
		var warnings []Warning
		if _, err := Parse("f", []byte("agents: {a: {llm: {model: m}, bids: {GoalDefined: exclusive}}}\n"+oneModel+source), NoteWarnings(&warnings)); err != nil {
			t.Fatal(err)
		}
		if len(warnings) != want || want > 0 && warnings[0].Message != `budget.cost does not bound calls of "m", which has no price` {
			t.Errorf("%s: %v", source, warnings)
		}
	}
}

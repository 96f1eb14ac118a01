package env

import (
	"cmp"
	"strings"

	"sett/contract/config"
	"sett/contract/model"
)

// GatewayOf has the models, agents and budgets of a configuration, for the gateway.
func GatewayOf(c *config.Config) Gateway {
	g := Gateway{Agents: map[string]GatewayAgent{}}
	for _, m := range c.Models {
		g.Models = append(g.Models, modelOf(m))
	}
	for _, a := range c.Agents {
		if a.LLM != nil {
			g.Agents[a.Name] = GatewayAgent{Model: a.LLM.Model, Budget: budgetOf(a.Budget)}
		}
	}
	if b := c.Budget; b != nil {
		g.Budget, g.OnBudget = b.Budget, b.OnBudget
	}
	return g
}

func budgetOf(b *model.Budget) model.Budget {
	if b == nil {
		return model.Budget{}
	}
	return *b
}

// modelOf leaves out headers with values of this machine: those are in the file of keys.
func modelOf(m config.Model) Model {
	retries := m.Retries
	out := Model{
		Name: m.Name, API: m.API, BaseURL: m.BaseURL, Model: m.Model, Context: m.Context, MaxOutput: m.MaxOutput, Price: m.Price,
		Timeout: m.Timeout.Headers, Idle: m.Timeout.Idle, Retries: &retries, Concurrency: m.Concurrency,
		KeyFrom: cmp.Or(m.KeyEnv, m.KeyFile), Record: m.Record, Replay: m.Replay, Ignore: m.Ignore, CAFile: m.CAFile,
	}
	for _, h := range m.Headers {
		if len(h.Uses()) > 0 {
			continue
		}
		if out.Headers == nil {
			out.Headers = map[string]string{}
		}
		out.Headers[h.Name] = strings.ReplaceAll(h.Value, "$$", "$")
	}
	return out
}

// AsksOf is the way of an agent's cub to its model, at that gateway and with that token
// there, and has the settings of `sett llm`. Without a model it is empty.
func AsksOf(a config.Agent, gateway, token string) Asks {
	l := a.LLM
	if l == nil {
		return Asks{}
	}
	return Asks{
		Gateway: gateway, Token: token, Model: l.Asks.Model, API: l.Asks.API, NoDoor: !l.Door, OnBudget: l.Asks.OnBudget,
		LLM: &LLM{
			Context: int(l.Asks.Context), MaxOutput: int(l.Asks.MaxOutput), Temperature: l.Asks.Temperature, Tools: l.Tools, Run: l.Run, Shell: l.Shell,
			Steps: l.Steps, Makes: a.Adapter.Makes, Terminal: a.Adapter.Terminal, Limit: l.Asks.Limit,
		},
	}
}

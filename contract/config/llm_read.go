package config

import (
	"fmt"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/contract/model"
)

// llmFields are the keys of an agent's use of a model.
func (d *decoder) llmFields(l *LLM) []field {
	return []field{
		{"model", "The name of one of models.", d.read.text(&l.Model)},
		{"tools", "Of sett llm, besides ask and finish. edit: views and changes files. run: starts programs. search: finds text in files.", wordsOfPart(d.read, &l.Tools, ToolEdit, ToolRun, ToolSearch)},
		{"run", "The programs that the tool run starts: a list of names, or shell for any line of a shell, in containers.", d.programs(l)},
		{"steps", "Answers of the model in one run.", d.read.count(&l.Steps, 1)},
		{"door", "The program's variables lead it to the model: OPENAI_BASE_URL, ANTHROPIC_BASE_URL and the like.", d.read.flag(&l.Door)},
	}
}

// wordsOfPart is a list of known words, each once. An empty value is none.
func wordsOfPart(r *reader, into *[]string, known ...string) part {
	return part{
		read: func(n *node, path string) {
			r.readOnce(n, path, into, func(item *node, s string) (string, bool) {
				if slices.Contains(known, s) {
					return s, true
				}
				r.add(item.at, didYouMean(s, known), "%s: unknown value %s", path, quote(s))
				return "", false
			})
		},
		shape: func() *schema {
			one := &schema{Type: kinds{"string"}}
			for _, w := range known {
				one.Enum = append(one.Enum, w)
			}
			return orNothing(&schema{Type: kinds{"array"}, Unique: true, Items: one})
		},
		write: func() any {
			if len(*into) == 0 {
				return nil
			}
			return *into
		},
	}
}

// shellWord in place of a list of programs allows all lines of a shell.
const shellWord = "shell"

// programs is a list of names of programs, or the word shell.
func (d *decoder) programs(l *LLM) part {
	return part{
		read: func(n *node, path string) {
			if n.kind == text {
				if l.Shell = n.text == shellWord; !l.Shell {
					d.faulty = append(d.faulty, path)
					d.add(n.at, "write a list: ["+n.text+"]; the word shell allows all programs", "%s must be a list, not text", path)
				}
				return
			}
			d.read.readOnce(n, path, &l.Run, func(item *node, s string) (string, bool) {
				if strings.TrimSpace(s) == "" || printable(s) != s || strings.ContainsAny(s, " \t") {
					d.faulty = append(d.faulty, path)
					d.add(item.at, "the name of a program, without arguments: go", "%s: %s cannot name a program", path, quote(s))
					return "", false
				}
				return s, true
			})
			if n.kind == list && len(n.items) == 0 {
				d.add(n.at, "name programs, or leave it out", "%s is empty", path)
			}
		},
		shape: func() *schema {
			return &schema{AnyOf: []*schema{{Const: shellWord},
				{Type: kinds{"array"}, MinItems: 1, Unique: true, Items: &schema{Type: scalars(), Pattern: `^\S+$`}}}}
		},
		write: func() any {
			switch {
			case l.Shell:
				return shellWord
			case len(l.Run) == 0:
				return nil
			}
			return l.Run
		},
	}
}

// resolveLLM checks the settings of an agent's model against the others, and gives the
// agent its program.
func (d *decoder) resolveLLM(a *Agent, c *Config, name *node, keys map[string]*node, path string) {
	at := func(key string) position {
		if n := keys[key]; n != nil {
			return n.at
		}
		return name.at
	}
	if a.LLM == nil {
		if a.Budget != nil {
			d.add(at("budget"), "add llm: {model: NAME}", "%s: budget bounds the calls of the agent's model, and it has none", path)
		}
		if a.asksModel() {
			d.add(at("bids"), "add llm: {model: NAME}", "%s.bids: model asks the agent's model, and it has none", path)
		}
		return
	}
	if keys["command"] == nil {
		a.Command = LLMCommand()
	}
	if l := a.LLM; l.Model != "" && !slices.Contains(c.ModelNames(), l.Model) {
		hint := didYouMean(l.Model, c.ModelNames())
		if len(c.Models) == 0 {
			hint = fmt.Sprintf("add models: {%s: %s}", printable(l.Model), exampleModel)
		}
		d.add(at("llm"), hint, "%s.llm: no model has the name %s", path, quote(l.Model))
	}
	if !a.LLM.Door && a.OwnLLM() {
		d.add(at("llm"), "leave door out, or give the agent a command", "%s.llm: sett llm reaches its model by the door", path)
	}
	runs := slices.Contains(a.LLM.Tools, ToolRun)
	switch l := a.LLM; {
	case slices.Contains(d.faulty, path+".llm.run"):
	case runs && !l.Shell && len(l.Run) == 0:
		d.add(at("llm"), "add run: [NAME] beside tools, or take run out of tools", "%s.llm: the tool run has no programs", path)
	case !runs && (l.Shell || len(l.Run) > 0):
		d.add(at("llm"), "add run to tools", "%s.llm: run has programs, and is not among tools", path)
	case l.Shell && c.Runtime == RuntimeProcess:
		d.add(at("llm"), "name programs: run: [go, git]; without containers nothing bounds a shell", "%s.llm: run: shell needs runtime: docker", path)
	case len(l.Tools) > 0 && a.Workspace.Mode == blackboard.NoWorkspace:
		d.add(at("llm"), "add workspace: {mode: ro} or rw, or leave tools out", "%s.llm: tools work in a tree, and the agent has none", path)
	}
	if a.asksModel() && strings.TrimSpace(a.Prompts.Claim) == "" {
		d.add(at("bids"), "add prompts: {claim: …}", "%s.bids: model decides by prompts.claim, which is empty", path)
	}
}

// asksModel says whether an entry of bids leads to the agent's model.
func (a Agent) asksModel() bool { return a.bidsOn(BidModel) }

// BidsByModel says whether the agent's model decides about an artefact type: an entry of
// bids says so, or there are neither bids nor a bid_script, but prompts.claim.
func (a Agent) BidsByModel(artefactType string) bool {
	if len(a.Bids) > 0 {
		rule, _, found := a.RuleFor(artefactType)
		return found && rule.Bid == BidModel
	}
	return a.LLM != nil && len(a.BidScript) == 0 && strings.TrimSpace(a.Prompts.Claim) != ""
}

// checkBudgets refuses budgets that bound nothing.
func (d *decoder) checkBudgets(c *Config, keys map[string]*node) {
	if c.Budget == nil {
		return
	}
	if len(c.Models) == 0 {
		d.add(keys["budget"].at, "add models:, or take it out", "budget bounds the calls of models, and there are none")
	}
}

// doubtCosts warns of a budget of money that does not see all models.
func (d *decoder) doubtCosts(c *Config, keys map[string]*node) {
	priceless := func(name string) bool {
		return slices.ContainsFunc(c.Models, func(m Model) bool { return m.Name == name && m.Price == nil })
	}
	said := map[string]bool{}
	doubt := func(at position, of, name string) {
		if !said[of+name] {
			said[of+name] = true
			d.doubts = append(d.doubts, Warning{Problem: d.problem(at, fmt.Sprintf("add a price to models.%s, or bound tokens, too", name),
				fmt.Sprintf("%s.cost does not bound calls of %s, which has no price", of, quote(name)))})
		}
	}
	for _, a := range c.Agents {
		if a.LLM == nil || !priceless(a.LLM.Model) {
			continue
		}
		if b := c.Budget; b != nil && b.Cost > 0 && b.Tokens == 0 && b.Calls == 0 {
			doubt(keys["budget"].at, "budget", a.LLM.Model)
		}
		if b := a.Budget; b != nil && b.Cost > 0 && b.Tokens == 0 && b.Calls == 0 {
			doubt(keys["agents"].at, join("agents", a.Name)+".budget", a.LLM.Model)
		}
	}
}

func (d *decoder) topBudgetFields(b *Budget) []field {
	return append(d.budgetFields(&b.Budget),
		field{"on_budget", "When a budget has no room for a call: fail ends the grant with a Failure; ask asks a person for more.", oneOf(d.read, &b.OnBudget, model.OnBudgetFail, model.OnBudgetAsk)})
}

package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sett/blackboard"
	"sett/contract/model"
	"sett/roles/role"
	"sett/roles/role/words"
)

// describeSpending is for entries about models.
func (l *EventLine) describeSpending(e blackboard.Event) {
	by := e.Attributes[blackboard.AttributeBy]
	switch e.Kind {
	case blackboard.EventBudget:
		of := "the goal's budget"
		if e.Claim != "" {
			of = fmt.Sprintf("%s's budget on claim %s", e.Agent, words.Short(e.Claim))
		}
		l.Agent, l.What = by, "raises "+of+" by "+more(e.Attributes)
	case blackboard.EventModels:
		l.Agent, l.What, l.As = by, "lets calls of models go on"+words.Because(e.Reason), Good
		if e.To == blackboard.ModelsPaused {
			l.What, l.As = "stops all calls of models"+words.Because(e.Reason), Warn
		}
	default:
		l.What, l.As = callText(e), Quiet
		if e.Attributes["over"] != "" {
			l.As = Warn
		}
	}
}

// callText says which model was asked, and how much that took.
func callText(e blackboard.Event) string {
	at := e.Attributes
	what := "claim " + words.Short(e.Claim) + ": " + at["model"]
	if asked := at["provider_model"]; asked != "" && asked != at["model"] {
		what += " (" + asked + ")"
	}
	if other := at["answer_model"]; other != "" {
		what += ", answered by " + other
	}
	if at["attempt"] == "0" {
		what += ", for its bid"
	}
	spent := blackboard.Spent{Usage: model.Usage{
		Input: count(at["input"]), Cached: count(at["cached"]), CacheWrite: count(at["cache_write"]), Output: count(at["output"]),
	}}
	if at["estimated"] != "" {
		spent.Estimated = 1
	}
	what += ", " + Tokens(spent)
	if at["cost"] != "" {
		spent.Cost, spent.Priced = model.Money(count(at["cost"])), true
		what += ", cost " + CostText(spent)
	}
	if over := blackboard.ParseOver(at["over"]); over != nil {
		what += "; " + over.Over()
	}
	return what + words.Because(e.Reason) + words.Took(at["took_us"])
}

// about begins the numbers of calls that Sett estimated in part.
func about(s blackboard.Spent) string {
	if s.Estimated > 0 {
		return "about "
	}
	return ""
}

// Tokens counts the tokens of calls for people.
func Tokens(s blackboard.Spent) string {
	text := fmt.Sprintf("%s%d tokens in, %d out", about(s), s.Input+s.Cached+s.CacheWrite, s.Output)
	if s.Cached > 0 {
		text += fmt.Sprintf(" (%d cached)", s.Cached)
	}
	return text
}

// Calls says how often a model was asked, and how much that took.
func Calls(s blackboard.Spent) string {
	text := words.Count(int(s.Calls), "call") + " of " + s.Model + ": " + Tokens(s)
	if s.Priced {
		text += ", cost " + CostText(s)
	}
	return text
}

// ModelsOf returns the calls of models by which an artefact was made, as its cub noted
// them; nil: there were none.
func ModelsOf(a blackboard.Artefact) []Spent {
	var fields map[string]json.RawMessage
	if len(a.Metadata) == 0 || json.Unmarshal(a.Metadata, &fields) != nil {
		return nil
	}
	var all []Spent
	if json.Unmarshal(fields[blackboard.MetadataModels], &all) != nil {
		return nil // a tool's own, of another form
	}
	return all
}

// CostText is a cost for people; "-": calls without a price are part of it.
func CostText(s blackboard.Spent) string {
	if !s.Priced {
		return "-"
	}
	return about(s) + s.Cost.String()
}

// more names the additions to a budget.
func more(at map[string]string) string {
	var all []string
	if n := count(at["cost"]); n > 0 {
		all = append(all, "cost "+model.Money(n).String())
	}
	for _, unit := range []string{"token", "call"} {
		if n := count(at[unit+"s"]); n > 0 {
			all = append(all, words.Count(int(n), unit))
		}
	}
	if n := count(at["time_us"]); n > 0 {
		all = append(all, words.Span(time.Duration(n)*time.Microsecond))
	}
	return strings.Join(all, ", ")
}

func count(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// Models is what `sett models -o json` prints.
type Models struct {
	Paused bool           `json:"paused"`          // a person stopped all calls
	Pause  *Pause         `json:"pause,omitempty"` // absent: nobody did
	Goals  []GoalSpending `json:"goals"`           // newest last
}

// Pause is a person's stop of all calls of models.
type Pause struct {
	By    string    `json:"by"`            // empty: an older sett did not note it
	Why   string    `json:"why,omitempty"` // the person's reason
	Since time.Time `json:"since,omitzero"`
}

// PauseOf describes a stop of all calls; nil: there is none.
func PauseOf(p *blackboard.Pause) *Pause {
	if p == nil {
		return nil
	}
	return &Pause{p.By, p.Why, p.Since}
}

// Text goes on from "stopped": with the time (unless now is zero), the person and the reason.
func (p *Pause) Text(now time.Time) string {
	text := ""
	if !p.Since.IsZero() && !now.IsZero() {
		text = " " + words.Age(max(now.Sub(p.Since), 0)) + " ago"
	}
	if p.By != "" {
		text += " by " + role.Clean(p.By)
	}
	return text + words.Because(role.Clean(strings.Join(strings.Fields(p.Why), " ")))
}

// GoalSpending is the account of a goal.
type GoalSpending struct {
	ID        string      `json:"workflow_id"`
	Calls     int64       `json:"calls"`
	Tokens    int64       `json:"tokens"`
	Cost      model.Money `json:"cost"`             // of calls that have a price
	Estimated int64       `json:"estimated"`        // of the calls, those that the provider did not count: tokens and cost are estimates then
	Seconds   float64     `json:"seconds"`          // of running grants that called a model
	Held      Amount      `json:"held"`             // reserved by calls under way
	Budget    *Budget     `json:"budget,omitempty"` // that applies now, with what people added; absent: the goal has ended
	By        []Spent     `json:"by"`               // by agent and model

	// Absent: no more was used than the budgets had.
	Over *blackboard.Exceeded `json:"over,omitempty"`
}

// Budget bounds the calls of a goal. Absent: no bound.
type Budget struct {
	Cost    model.Money `json:"cost,omitempty"`
	Tokens  int64       `json:"tokens,omitempty"`
	Calls   int64       `json:"calls,omitempty"`
	Seconds float64     `json:"seconds,omitempty"` // of running grants that called a model
}

// BudgetText names the bounds of the budget, and says where more was used than it had; "-": there are none.
func (g GoalSpending) BudgetText() string {
	text := cmp.Or(BudgetText(g.Budget), "-")
	if g.Over != nil {
		text += "; " + role.Clean(g.Over.Over())
	}
	return text
}

// BudgetText names the bounds of a budget; empty: there are none.
func BudgetText(b *Budget) string {
	if b == nil {
		return ""
	}
	return more(map[string]string{
		"cost": strconv.FormatInt(int64(b.Cost), 10), "tokens": strconv.FormatInt(b.Tokens, 10), "calls": strconv.FormatInt(b.Calls, 10),
		"time_us": strconv.FormatInt(int64(b.Seconds*1e6), 10),
	})
}

// Amount is a number of tokens and their cost.
type Amount struct {
	Tokens int64       `json:"tokens"`
	Cost   model.Money `json:"cost"`
}

// Spent are the calls of one model by one agent.
type Spent struct {
	blackboard.Spent
	Seconds float64 `json:"seconds"` // of the calls, in sum
}

// SpendingOf describes the account of a goal. The budget is that of sett.yml now; of a goal that has ended, nobody
// knows the one it ran with.
func SpendingOf(id string, s blackboard.Spending, budget model.Budget, ended bool) GoalSpending {
	g := GoalSpending{
		ID: id, Calls: s.Calls, Tokens: s.Tokens, Cost: s.Cost, Seconds: s.Time.Seconds(), Held: Amount{s.Held.Tokens, s.Held.Cost}, By: SpentOf(s.Total()), Over: s.Over,
	}
	g.Estimated = g.Sum().Estimated
	if !ended {
		b := budget.Plus(s.More)
		g.Budget = &Budget{b.Cost, b.Tokens, b.Calls, b.Time.Seconds()}
	}
	return g
}

// SpentOf describes calls; never nil.
func SpentOf(all []blackboard.Spent) []Spent {
	out := make([]Spent, len(all))
	for i, s := range all {
		out[i] = Spent{s, s.Took.Seconds()}
	}
	return out
}

// TokensText is the number of all tokens for people.
func (g GoalSpending) TokensText() string { return about(g.Sum()) + strconv.FormatInt(g.Tokens, 10) }

// Sum adds up the calls of all agents and models.
func (g GoalSpending) Sum() blackboard.Spent {
	sum := blackboard.Spent{Priced: true}
	for _, s := range g.By {
		sum = sum.Add(s.Spent)
	}
	return sum
}

package blackboard

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sett/contract/model"
)

// Call names one call of a model. A request that is repeated has the same ID.
type Call struct {
	ID      string // a ULID
	Claim   string
	Agent   string
	Attempt int    // of the agent's running grant; 0: of a bid
	Holder  string // of the grant
	Model   string // its name in sett.yml
	Request string // SHA-256 of the request, in hex
}

// Bid says whether the call is for the agent's bid, which is due, on the claim. Otherwise
// it is for the agent's running grant.
func (c Call) Bid() bool { return c.Attempt == 0 }

// Reservation is what a call may use at most: the budgets have that much less for others
// until the call is settled.
type Reservation struct {
	Tokens int64
	Output int64 // of the tokens, those of the answer; of a sum and of a call that an older sett reserved: 0
	Cost   model.Money
	Try    string // of the call: a repeated move has the same one; the same call, made anew, has another
}

// Budgets bound a call: that of its goal and that of its grant. A person may have raised
// them; that is on the blackboard.
type Budgets struct {
	Goal  model.Budget
	Grant model.Budget
}

// Raise is a person's addition to a budget.
type Raise struct {
	Word     string // that it counts once by: the id of their Answer, or one of its own
	Workflow string
	Claim    string // and Agent: of the grant whose budget it is; empty: the goal's
	Agent    string
	More     model.Budget
	By       string // the person; an Answer says it
}

// Spending is the account of a goal.
type Spending struct {
	Cost   model.Money // of calls that have a price
	Tokens int64
	Calls  int64
	Time   time.Duration // of grants that called a model, up to the last call or the end
	Held   Reservation   // by calls under way
	More   model.Budget  // by which people raised the budget
	Runs   []Run         // by claim, agent and model
	Over   *Exceeded     // a budget of which more was used than it had, last; nil: none was
}

// Run has the settled calls of one agent on one claim, by one model.
type Run struct {
	Claim string
	Spent
}

// PendingCall is a call under way.
type PendingCall struct {
	Call
	Workflow string
	Reservation
	Since time.Time
}

// Room is the answer to a request for a reservation.
type Room struct {
	State RoomState
	// Of a call that does not fit: the tokens and the cost that the narrowest budget has
	// left. Negative: no bound.
	Tokens int64
	Cost   model.Money
	// Of a call that does not fit and of one that is refused.
	Budget Exceeded
	Reason string // of NotRunning and Paused
	Again  bool   // of Reserved: an earlier try of the call reserved it
}

// RoomState says whether a call may be made.
type RoomState string

// The states of a Room.
const (
	RoomReserved   RoomState = "reserved" // make the call; also where the same call was reserved before
	RoomWait       RoomState = "wait"     // it does not fit, but calls under way may leave room
	RoomLess       RoomState = "less"     // it does not fit, but a smaller one may
	RoomNone       RoomState = "none"     // the budget is used up
	RoomPaused     RoomState = "paused"   // a person stopped all spending of the instance
	RoomNotRunning RoomState = "refused"  // the grant is not running or not the caller's, or the bid is not due
	RoomSettled    RoomState = "settled"  // the same call ended before
)

// Exceeded names a budget and its use.
type Exceeded struct {
	Of    string `json:"of"`    // "goal" or "grant"
	Unit  string `json:"unit"`  // "cost", "tokens", "calls" or "time"
	Limit string `json:"limit"` // as a person writes it
	Used  string `json:"used"`  // with what calls under way have reserved
}

// The values of Of.
const (
	BudgetOfGoal  = "goal"
	BudgetOfGrant = "grant"
)

// Wanted is what a Question for more of a budget is about, as its metadata says.
type Wanted struct {
	Of   string `json:"budget_of"`
	Unit string `json:"budget_unit,omitempty"` // empty: older Questions
}

// Metadata is that of the Question.
func (w Wanted) Metadata() json.RawMessage {
	text, err := json.Marshal(w)
	if err != nil { // two strings
		return nil
	}
	return text
}

// WantedBy returns what a Question for more of a budget is about.
func WantedBy(question Artefact) Wanted {
	var w Wanted
	if json.Unmarshal(question.Metadata, &w) != nil || w.Of != BudgetOfGrant {
		w.Of = BudgetOfGoal
	}
	return w
}

// String is the sentence about it: "the goal's budget of 10.00 cost is used up (10.02)".
func (e Exceeded) String() string {
	unit := e.Unit
	if e.Limit == "1" { // call, token
		unit = strings.TrimSuffix(unit, "s")
	}
	return fmt.Sprintf("the %s's budget of %s %s%s (%s)", e.Of, e.Limit, unit, usedUp, e.Used)
}

// noRoom begins the part of NoRoom that is about the call, and usedUp that of String about the use.
const (
	usedUp = " is used up"
	noRoom = " has no room for this call"
)

// NoRoom is the sentence about a budget that is not used up, for a call that may take more than is left: that much, as a
// person writes it.
func (e Exceeded) NoRoom(want string) string {
	return fmt.Sprintf("the %s's budget of %s %s%s: %s of it is used, and the call may take up to %s", e.Of, e.Limit, e.Unit, noRoom, e.Used, want)
}

// Over is the sentence about a budget of which more was used than it had: what calls side by side take is known
// after them.
func (e Exceeded) Over() string {
	return fmt.Sprintf("more than the %s's budget of %s %s was used (%s)", e.Of, e.Limit, e.Unit, e.Used)
}

// ParseOver reads such a budget as the blackboard and its ledger have it; nil: there is none.
func ParseOver(text string) *Exceeded {
	var e Exceeded
	var limit, used int64
	if n, _ := fmt.Sscan(text, &e.Of, &e.Unit, &limit, &used); n < 4 {
		return nil
	}
	e.Limit, e.Used = BudgetAmount(e.Unit, limit), BudgetAmount(e.Unit, used)
	return &e
}

// SameBudget says whether two such sentences are about the same limit of the same budget.
func SameBudget(a, b string) bool {
	budget := func(sentence string) string {
		sentence, _, _ = strings.Cut(sentence, usedUp)
		sentence, _, _ = strings.Cut(sentence, noRoom)
		return sentence
	}
	return budget(a) == budget(b)
}

// Exceeds says whether such a sentence is about a limit that a goal's budget has.
func Exceeds(why string, goal model.Budget) bool {
	for unit, n := range map[string]int64{"cost": int64(goal.Cost), "tokens": goal.Tokens, "calls": goal.Calls, "time": goal.Time.Microseconds()} {
		if n > 0 && SameBudget(why, Exceeded{Of: BudgetOfGoal, Unit: unit, Limit: BudgetAmount(unit, n)}.String()) {
			return true
		}
	}
	return false
}

// BudgetAmount is an amount of a unit of budgets as people read it: money in its smallest part, time in microseconds.
func BudgetAmount(unit string, n int64) string {
	switch unit {
	case "cost":
		return model.Money(n).String()
	case "time":
		return (time.Duration(n) * time.Microsecond).Round(time.Second).String()
	}
	return strconv.FormatInt(n, 10)
}

// Settlement is the end of a call.
type Settlement struct {
	Usage     model.Usage
	Cost      model.Money
	Priced    bool          // the model has a price; otherwise Cost says nothing
	Estimated bool          // the provider did not say how many tokens it took
	Took      time.Duration //
	Status    int           // of the provider's last answer; 0: none
	Answer    string        // SHA-256 of the answer, in hex; empty: none
	Reason    string        // of a call that failed
	Asked     string        // the model that was asked, as its provider calls it; empty: unknown
	Answerer  string        // the model that answered, where its provider names another one
	Budgets   Budgets       // that bound the call: the ledger says that more was used than they have
}

// Spent sums up the settled calls of one model by one agent.
type Spent struct {
	Agent string `json:"agent"`
	Model string `json:"model"`
	model.Usage
	Calls     int64         `json:"calls"`
	Cost      model.Money   `json:"cost"`
	Priced    bool          `json:"priced"`    // each call has a price
	Estimated int64         `json:"estimated"` // of the calls, those that the provider did not count
	Took      time.Duration `json:"-"`
}

// MetadataModels is the key of an artefact's metadata that lists the calls of models by
// which it was made, by model.
const MetadataModels = "models"

// The states of all calls of models of an instance.
const (
	ModelsPaused  = "paused"
	ModelsRunning = "running"
)

// Pause is a person's stop of all calls of models.
type Pause struct {
	By    string
	Why   string    // empty: the person gave no reason
	Since time.Time // zero: an older sett recorded it without these three
}

// mostWhy bounds the characters of a reason in a sentence.
const mostWhy = 160

// String says it in one line.
func (p Pause) String() string {
	text := "all calls of models are paused"
	if p.By != "" {
		text += " by " + p.By
	}
	why := []rune(strings.Join(strings.Fields(p.Why), " "))
	if len(why) > mostWhy {
		why = append(why[:mostWhy-1], '…')
	}
	if len(why) > 0 {
		text += " (" + string(why) + ")"
	}
	return text
}

// Total sums up the runs, by agent and model, in their order.
func (s Spending) Total() []Spent {
	var all []Spent
	for _, r := range s.Runs {
		i := slices.IndexFunc(all, func(x Spent) bool { return x.Agent == r.Agent && x.Model == r.Model })
		if i < 0 {
			all = append(all, r.Spent)
			continue
		}
		all[i] = all[i].Add(r.Spent)
	}
	return all
}

// Of sums up the runs of one claim by one agent.
func (s Spending) Of(claim, agent string) []Spent {
	var all []Spent
	for _, r := range s.Runs {
		if r.Claim == claim && r.Agent == agent {
			all = append(all, r.Spent)
		}
	}
	return all
}

// Add returns the sum of two; it has the names of the first.
func (s Spent) Add(t Spent) Spent {
	s.Usage = s.Usage.Add(t.Usage)
	s.Calls += t.Calls
	s.Cost += t.Cost
	s.Priced = s.Priced && t.Priced
	s.Estimated += t.Estimated
	s.Took += t.Took
	return s
}

package cub

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/contract/tool"
	"sett/roles/cub/assemble"
	"sett/roles/cub/door"
	"sett/roles/role/gateway"
	"sett/roles/role/modelclient"
)

const (
	mostModelCalls = 40 // for one bid, those that ended before a crash included
)

// bidder is the agent as the rules of its bids see it.
func (c *cub) bidder() config.Agent {
	a := config.Agent{Name: c.settings.Agent, Bids: c.settings.Bids, BidScript: c.settings.BidScript, Prompts: config.Prompts{Claim: c.settings.PromptClaim}}
	if c.settings.Asks.Gateway != "" {
		a.LLM = &config.LLM{}
	}
	return a
}

// askModel has the model decide about a claim, and submits its bid.
func (c *cub) askModel(ctx context.Context, claim blackboard.Claim) {
	if !c.noBids.due(claim.ID, c.env.Now()) {
		return // the next look at the open work comes here again
	}
	c.models.start(ctx, claim.ID, func() {
		if err := c.bidByModel(ctx, claim); err != nil && ctx.Err() == nil {
			c.log.Warn("bid not submitted, trying again", "claim", claim.ID, "error", err)
		}
	})
}

// bidByModel submits the model's bid. When the model gives none, the bid is ignore, with
// the reason in the ledger, unless sett.yml requires a bid: then the claim waits. It waits, too, while the
// call is withheld: nobody has asked the model then.
func (c *cub) bidByModel(ctx context.Context, claim blackboard.Claim) error {
	bid, why, err := c.modelBid(ctx, claim)
	refusal, withheld := modelclient.Withheld(err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, blackboard.ErrUnavailable): // the next look at the open work asks again
		return err
	case withheld:
		return c.withheld(ctx, claim, refusal)
	case err != nil:
		c.log.Error("bid not evaluated", "claim", claim.ID, "error", err, "required", c.settings.BidsRequired)
		if c.settings.BidsRequired {
			c.evaluated(err)
			if isUnusable(err) {
				c.noBids.add(claim.ID, c.env.Now(), mostBidPause)
			}
			return c.withheldNoLonger(ctx, claim)
		}
		bid, why = blackboard.BidIgnore, modelclient.OneReason("the model gave no bid: "+err.Error())
	default:
		c.evaluated(nil)
	}
	c.noBids.forget(claim.ID)
	_, err = c.submit(ctx, []blackboard.BidRequest{{Claim: claim.ID, Agent: c.settings.Agent, Bid: bid, Reason: why}})
	return err
}

// withheld has the claim wait, and its wait named, until the model may be asked.
func (c *cub) withheld(ctx context.Context, claim blackboard.Claim, why gateway.Refusal) error {
	c.log.Warn("bid waits for the model", "claim", claim.ID, "why", why.Why, "reason", why.Message)
	c.noBids.add(claim.ID, c.env.Now(), mostWithheldPause)
	kind := map[gateway.Why]blackboard.WithheldKind{gateway.Budget: blackboard.WithheldBudget, gateway.Paused: blackboard.WithheldPaused}[why.Why]
	if kind == "" {
		return nil // it cannot be told: the blackboard is away
	}
	reason := modelclient.OneReason(why.Message)
	if was, is := claim.Withheld[c.settings.Agent]; is && was.Kind == kind && kind == blackboard.WithheldBudget && !blackboard.SameBudget(was.Why, reason) {
		// A person raised the budget, and it is used up again: another wait, for those who follow the ledger.
		if err := c.withheldNoLonger(ctx, claim); err != nil {
			return err
		}
	}
	return refusedIsOver(c.board.withhold(ctx, claim.ID, c.settings.Agent, kind, reason))
}

// withheldNoLonger takes that back, where the bid waits for another reason by now.
func (c *cub) withheldNoLonger(ctx context.Context, claim blackboard.Claim) error {
	if _, was := claim.Withheld[c.settings.Agent]; !was {
		return nil
	}
	return refusedIsOver(c.board.withhold(ctx, claim.ID, c.settings.Agent, "", ""))
}

// refusedIsOver drops the error of a move about a bid that is due no longer.
func refusedIsOver(err error) error {
	if errors.Is(err, blackboard.ErrRefused) {
		return nil
	}
	return err
}

// The pauses between questions about a claim: on which a bid is required, after answers that were
// none, each of which costs; and while calls are withheld, which a person ends and waits for.
const (
	firstBidPause     = 2 * time.Second
	mostBidPause      = 5 * time.Minute
	mostWithheldPause = 20 * time.Second
)

// noBids are the claims about which the model was asked, or could not be, and gave no bid.
type noBids struct {
	mu  sync.Mutex
	all map[string]noBid
}

type noBid struct {
	pause time.Duration
	next  time.Time
}

// due says whether the model may be asked about the claim.
func (n *noBids) due(claim string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !now.Before(n.all[claim].next)
}

func (n *noBids) add(claim string, now time.Time, most time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil {
		n.all = map[string]noBid{}
	}
	pause := min(max(2*n.all[claim].pause, firstBidPause), most)
	n.all[claim] = noBid{pause, now.Add(pause)}
}

func (n *noBids) forget(claim string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.all, claim)
}

// modelBid asks the model.
func (c *cub) modelBid(ctx context.Context, claim blackboard.Claim) (blackboard.BidType, string, error) {
	target, err := c.board.records.Artefact(ctx, claim.ArtefactID)
	if err != nil {
		return "", "", err
	}
	chain, _, err := assemble.Chain(ctx, c.board.records, target, claim.AdditionalContextIDs)
	if err != nil {
		return "", "", err
	}
	limits := env.LLM{}
	if l := c.settings.Asks.LLM; l != nil {
		limits = *l
	}
	q, left := modelclient.BidRequest(c.settings.Role, c.settings.PromptClaim, tool.Input{Target: target, ContextChain: chain}, limits)
	if len(left) > 0 {
		c.log.Warn("left out of the prompt for a bid", "claim", claim.ID, "parts", left)
	}
	ctx, cancel := modelclient.LimitBid(ctx)
	defer cancel()
	return c.answeredBid(ctx, claim.ID, q)
}

// gatewayClient reaches the gateway, also one that is being started again.
func gatewayClient() *http.Client {
	return modelclient.NewHTTP(door.Patient(door.Patience))
}

// answeredBid asks until there is an answer in the right form. The n-th call for a bid has the same
// id after a crash, also after one of the gateway that answered nothing, so that none is paid for
// twice; one that ended then, without an answer that is kept, is made under the next id. So is one
// whose kept answer is no bid, where a bid is required.
func (c *cub) answeredBid(ctx context.Context, claim string, q modelclient.Request) (blackboard.BidType, string, error) {
	calls, line, through := 0, &answering{by: c.modelHTTP.Transport, answered: true}, *c.modelHTTP
	through.Transport = line
	limit := ""
	if l := c.settings.Asks.LLM; l != nil {
		limit = l.Limit
	}
	client := &modelclient.Client{
		API: c.settings.Asks.API, Model: c.settings.Asks.Model, Base: strings.TrimRight(c.settings.Asks.Gateway, "/"), HTTP: &through, Repeats: 2, Limit: limit,
		Sign: func(h http.Header) {
			if line.answered {
				calls++
			}
			gateway.SetCall(h, c.settings.Asks.Token, blackboard.Call{
				ID: bidCallID(claim, c.settings.Agent, calls), Claim: claim, Agent: c.settings.Agent, Holder: c.settings.Incarnation,
			})
		},
	}
	for {
		bid, reason, err := client.Bid(ctx, q)
		if err == nil {
			return bid, modelclient.OneReason("model: " + reason), nil
		}
		var status *modelclient.StatusError
		if line.answered && !errors.As(err, &status) && !errors.Is(err, modelclient.ErrCut) {
			err = unusable{err}
		}
		again := ended(err) || c.settings.BidsRequired && line.kept && isUnusable(err)
		if !again || calls > mostModelCalls {
			return "", "", err
		}
	}
}

// unusable is an answer of the model that is no bid.
type unusable struct{ error }

func (e unusable) Unwrap() error { return e.error }

// isUnusable says whether there was an answer at all.
func isUnusable(err error) bool {
	var u unusable
	return errors.As(err, &u)
}

// answering makes calls one after the other, and knows whether the last one had an answer, and
// whether that was one of before.
type answering struct {
	by             http.RoundTripper
	answered, kept bool
}

// RoundTrip makes a call.
func (a *answering) RoundTrip(q *http.Request) (*http.Response, error) {
	a.answered = false
	r, err := a.by.RoundTrip(q)
	a.answered = err == nil
	a.kept = err == nil && r.Header.Get(gateway.Kept) != ""
	return r, err
}

// ended says whether a call was refused because it had ended before.
func ended(err error) bool {
	var status *modelclient.StatusError
	return errors.As(err, &status) && status.Status == http.StatusConflict && status.Refused != nil && status.Refused.Why == gateway.Request
}

// bidCallID is the id of the n-th call for an agent's bid on a claim.
func bidCallID(claim, agent string, n int) string {
	return blackboard.DerivedArtefactID("bid call "+strconv.Itoa(n)+" "+agent, claim)
}

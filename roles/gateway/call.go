package gateway

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"time"

	"sett/blackboard"
	"sett/contract/model"
	line "sett/roles/role/gateway"
)

// call is one request of a client on its way.
type call struct {
	s       *server
	w       http.ResponseWriter
	r       *http.Request
	q       *request
	up      *upstream
	id      blackboard.Call
	budgets blackboard.Budgets
	began   time.Time

	canonical []byte // the request without its volatile parts; nil: nobody asks
	key       string // of the request, on tapes
	input     int64  // reserved, in tokens
	output    int64  // reserved, in tokens
	lower     int64  // the limit of the output that the budget allows; 0: the client's
	reserved  bool
	try       string // names this try of the call on the blackboard
	settled   bool
	kept      bool // the answer comes from an earlier attempt, which paid for it

	tries    int       // requests to the provider
	asked    time.Time // the first of them
	used     counted
	lost     model.Usage // of attempts with an answer that broke off
	dropped  model.Usage // of attempts that were sent and got no answer
	answered bool        // the model said something
	unknown  bool        // the model may have said all that it was allowed to
	text     int64       // bytes of its text
	size     int64       // bytes of the answer
	whole    bool        // the answer came to its end
	status   int
	reason   string
	// The reason that an answer to repeat was the last one, where it is the provider's; empty: another.
	unrepeated string
	remedy     string // after a provider's error, for people; empty: none is known
	hash       hash.Hash
	tape       *taped // the answer so far; nil: it is too large, or nobody asks
}

// Causes of a call's end.
var (
	errIdle    = errors.New("the provider was silent for too long")
	errBidTime = errors.New("a call for a bid may not take longer")
	errTooMuch = errors.New("the answer is larger than 64 MiB")
)

// answer answers the request.
func (c *call) answer() {
	ctx := c.r.Context()
	if c.id.Bid() {
		limited, end := context.WithTimeoutCause(ctx, c.s.pace.bid, errBidTime)
		defer end()
		ctx = limited
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.s.metrics.running.Inc()
	defer c.s.metrics.running.Dec()
	c.hash = sha256.New()
	c.identify()
	if kept := c.s.answers.take(c.id, c.key); kept != nil {
		c.kept = true
		if c.id.Bid() {
			c.w.Header().Set(line.Kept, "true")
		}
		c.pass(ctx, cancel, kept.got())
		return
	}
	leave, err := c.up.enter(ctx)
	if err != nil {
		c.giveUp(ctx, err)
		return
	}
	defer leave()
	defer c.s.under.add(c.id.ID)()
	if !c.q.free && !c.reserve(ctx) {
		return
	}
	defer c.settle() // also when a connection is cut on purpose
	g, status, why := c.obtain(ctx, cancel)
	if why != nil {
		c.reason = why.Message
		c.settle()
		c.s.refuse(c.w, c.q.api, status, *why)
		return
	}
	c.pass(ctx, cancel, g)
}

// identify finds the names of the request on tapes.
func (c *call) identify() {
	c.key = c.q.hash
	if len(c.up.ignore) > 0 || c.up.record != nil || c.up.replay != nil {
		c.canonical = canonical(c.q, c.up.ignore)
		c.key = keyOf(c.q, c.canonical)
	}
	if c.up.record != nil || c.s.answers.on() && !c.q.free {
		c.tape = &taped{API: c.q.api, Path: c.q.path, Stream: c.q.stream, Attempt: c.id.Attempt, Call: c.id.ID, began: c.began}
	}
}

// giveUp ends a call that the provider did not see.
func (c *call) giveUp(ctx context.Context, err error) {
	if c.r.Context().Err() != nil {
		return // nobody listens
	}
	c.s.refuse(c.w, c.q.api, http.StatusGatewayTimeout, refusal(line.Provider, "wait for other calls: %v", errors.Join(context.Cause(ctx), err)))
}

// leastOutput is the lowest limit that a budget makes of a request's own.
const leastOutput = 1024

// reserve takes the most that the call may use out of the budgets. It answers a call for
// which there is no room.
func (c *call) reserve(ctx context.Context) bool {
	late := c.s.now().Add(c.s.pace.budget)
	c.input = c.s.ratios.estimate(c.id, int64(len(c.q.body)), c.up.Context)
	c.output = times(c.q.output(c.up.Model), c.q.copies)
	c.try = rand.Text()
	for {
		settled := c.s.room.wait()
		room, err := c.room(ctx)
		if err != nil {
			c.s.log.Warn("call not reserved", "error", err, "claim", c.id.Claim, "agent", c.id.Agent)
			c.s.release(c.id)
			c.s.refuse(c.w, c.q.api, http.StatusServiceUnavailable, refusal(line.Board, "reserve the call: %v", err))
			return false
		}
		switch {
		case room.State == blackboard.RoomReserved:
			c.reserved = true
			if room.Again { // an earlier try ended with its gateway, and may have used all that it was allowed to
				c.lost = model.Usage{Input: c.input, Output: c.output}
			}
			return true
		case room.State == blackboard.RoomWait && c.s.now().Before(late):
			if !c.await(ctx, settled) {
				c.giveUp(ctx, errBidTime)
				return false
			}
			continue
		case room.State == blackboard.RoomLess && c.lowerTo(room):
			continue
		}
		status, why := c.refusedRoom(room)
		c.s.log.Info("call refused", "reason", why.Message, "claim", c.id.Claim, "agent", c.id.Agent, "model", c.id.Model)
		c.s.refuse(c.w, c.q.api, status, why)
		return false
	}
}

// times is the product of two numbers above zero, or the highest number of tokens that is reserved.
func times(a, b int64) int64 {
	if a > model.MostCount/b {
		return model.MostCount
	}
	return a * b
}

// room asks the blackboard for a reservation. While the blackboard is away the call waits, like all of Sett: the tool
// that asks would fail otherwise, and its goal with it. It is one try of the call, so that it reserves once, also
// where a reply was lost.
func (c *call) room(ctx context.Context) (room blackboard.Room, err error) {
	var away error
	err = c.s.board.Reachable.Patiently(ctx, c.s.log, nil, func() (err error) {
		room, err = c.s.board.Reserve(context.WithoutCancel(ctx), c.id, c.reservation(), c.budgets)
		away = err
		return err
	})
	if ctx.Err() != nil && away != nil {
		err = away // the time of a bid may be over before the blackboard is back
	}
	return room, err
}

// await waits until a call is settled here, or for a moment.
func (c *call) await(ctx context.Context, settled <-chan struct{}) bool {
	select {
	case <-settled:
	case <-time.After(c.s.pace.poll):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// reservation is the most that the call may use.
func (c *call) reservation() blackboard.Reservation {
	most := blackboard.Reservation{Tokens: c.input + c.output, Output: c.output, Try: c.try}
	if c.up.Price != nil {
		most.Cost = c.dearest(c.input, c.output)
	}
	return most
}

// dearest is the cost of that many tokens when the input is of the dearest kind.
func (c *call) dearest(input, output int64) model.Money {
	p := *c.up.Price
	p.Input = max(p.Input, p.CacheWrite, p.Cached)
	return p.Cost(model.Usage{Input: input, Output: output})
}

// lowerTo lowers the limit of the output to the rest of a budget. It returns false when
// that is too little.
func (c *call) lowerTo(room blackboard.Room) bool {
	each := c.rest(room)
	if each < leastOutput || each*c.q.copies >= c.output {
		return false
	}
	c.output, c.lower = each*c.q.copies, each
	return true
}

// rest is the limit of the output that fits into a room; 0: the input alone does not.
func (c *call) rest(room blackboard.Room) int64 {
	output := c.output
	if room.Tokens >= 0 {
		output = min(output, room.Tokens-c.input)
	}
	if room.Cost >= 0 && c.up.Price != nil && c.up.Price.Output > 0 {
		left := room.Cost - c.dearest(c.input, 0)
		if perToken := int64(c.up.Price.Output); left > 0 {
			output = int64(min(float64(output), float64(left)*1e6/float64(perToken)*(1-1e-9)))
		} else {
			return 0
		}
	}
	return max(0, output/c.q.copies)
}

// refusedRoom is the answer to a call without room.
func (c *call) refusedRoom(room blackboard.Room) (int, line.Refusal) {
	switch room.State {
	case blackboard.RoomPaused:
		return http.StatusTooManyRequests, refusal(line.Paused, "%s: sett models resume", room.Reason)
	case blackboard.RoomNotRunning:
		return http.StatusForbidden, refusal(line.NotRunning, "the grant cannot call a model: %s", room.Reason)
	case blackboard.RoomSettled:
		return http.StatusConflict, refusal(line.Request, "this call has ended, and no answer to it is kept")
	}
	why := refusal(line.Budget, "%s", room.Budget)
	if room.State != blackboard.RoomNone {
		why.Message = c.tooLarge(room)
	}
	why.Budget = &room.Budget
	return http.StatusTooManyRequests, why
}

// tooLarge is the sentence about a budget that has room left, but not for this call, with a way on.
func (c *call) tooLarge(room blackboard.Room) string {
	want := c.reservation()
	most, input := want.Tokens, c.input
	if room.Budget.Unit == "cost" {
		most, input = int64(want.Cost), int64(c.dearest(c.input, 0))
	}
	text := room.Budget.NoRoom(blackboard.BudgetAmount(room.Budget.Unit, most))
	if each := c.rest(room); each > 0 {
		return text + fmt.Sprintf("; a max_output of at most %d fits", each)
	}
	return text + fmt.Sprintf(", %s for its input alone", blackboard.BudgetAmount(room.Budget.Unit, input))
}

package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// Worker is a process that works on one claim of its agent and is gone. It was
// started for that claim, or started warm and waits to be told which.
type Worker struct {
	Incarnation string    // by which it holds its grant
	Claim       string    // that it has; empty: it waits
	Attempt     int       // of the claim's grant, as it was when the worker got it; 0: unknown
	Alive       time.Time // until when; compare with ServerTime
}

// StandbyEvents is the channel of an agent's waiting workers: one of them was
// assigned its claim; see ParseAssignment.
func StandbyEvents(agent string) Channel {
	return Channel{"standby " + agent, func(k keys) string { return k.standbyEvents(agent) }}
}

// ParseAssignment reads a notice of StandbyEvents: which worker got which claim.
func ParseAssignment(notice string) (incarnation, claim string, ok bool) {
	incarnation, claim, ok = strings.Cut(notice, " ")
	return incarnation, claim, ok && incarnation != "" && blackboard.ValidID(claim)
}

// HelloWorker registers a worker, or says that it lives on, for aliveFor; w.Alive
// is not looked at. A worker that waits has no claim, nor need it repeat one that
// it was assigned: what was assigned stands. Attempt 0 is that of the claim's
// grant. It may be lost with the blackboard's memory, so it is to be repeated.
func (b *Board) HelloWorker(ctx context.Context, agent string, w Worker, aliveFor time.Duration) error {
	if _, err := b.do(ctx, "worker", agent, w.Incarnation, w.Claim, strconv.Itoa(w.Attempt), micros(aliveFor)); err != nil {
		return fmt.Errorf("heartbeat of a worker of %s: %w", agent, err)
	}
	return nil
}

// Workers returns the workers that an agent has, or had and that nobody has
// forgotten yet, by incarnation. Entries that cannot be read are left out.
func (b *Board) Workers(ctx context.Context, agent string) (map[string]Worker, error) {
	var all map[string]string
	err := b.retry(ctx, "read workers", func(ctx context.Context) (err error) {
		all, err = b.client.Do(ctx, b.client.B().Hgetall().Key(b.keys.workers(agent)).Build()).AsStrMap()
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make(map[string]Worker, len(all))
	for incarnation, s := range all {
		if w, ok := decodeWorker(incarnation, s); ok {
			out[incarnation] = w
		}
	}
	return out, nil
}

// Assign tells a waiting worker its one claim. It may be repeated. ErrStale: the
// epoch is no longer the leader's. ErrRefused: the worker is not there, does not
// wait or is silent, the agent's grant is not queued at this attempt, or another
// living worker has it.
func (b *Board) Assign(ctx context.Context, epoch, agent, incarnation, claim string, attempt int) error {
	r, err := b.do(ctx, "assign", epoch, agent, incarnation, claim, strconv.Itoa(attempt))
	if err == nil {
		err = refused(r)
	}
	if err != nil {
		return fmt.Errorf("assign claim %s to worker %s of %s: %w", claim, incarnation, agent, err)
	}
	return nil
}

// Assignment returns the claim that a worker was assigned; empty: none yet.
func (b *Board) Assignment(ctx context.Context, agent, incarnation string) (claim string, err error) {
	err = b.retry(ctx, "read assignment", func(ctx context.Context) error {
		s, err := b.client.Do(ctx, b.client.B().Hget().Key(b.keys.workers(agent)).Field(incarnation).Build()).ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
		w, _ := decodeWorker(incarnation, s)
		claim = w.Claim
		return nil
	})
	return claim, err
}

// ForgetWorker removes what is known of a worker whose unit is gone. Its grant is
// not touched.
func (b *Board) ForgetWorker(ctx context.Context, agent, incarnation string) error {
	if _, err := b.do(ctx, "forget", agent, incarnation); err != nil {
		return fmt.Errorf("forget worker %s of %s: %w", incarnation, agent, err)
	}
	return nil
}

// decodeWorker reads an entry as the scripts write it (see _lib.lua, worker_of).
func decodeWorker(incarnation, s string) (Worker, bool) {
	w := Worker{Incarnation: incarnation}
	parts := strings.Split(s, " ")
	if len(parts) != 3 {
		return w, false
	}
	alive, err := parseMicros(parts[0])
	if err != nil {
		return w, false
	}
	attempt, err := strconv.Atoi(parts[2])
	if err != nil {
		return w, false
	}
	if w.Alive, w.Attempt = alive, attempt; parts[1] != "-" {
		w.Claim = parts[1]
	}
	return w, true
}

package redis

import (
	"context"
	"strconv"
	"strings"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// StandbyEvents is the channel of an agent's waiting workers: one of them was
// assigned its claim; see ParseAssignment.
func StandbyEvents(agent string) Channel {
	return Channel{"standby " + agent, func(k store.Keys) string { return k.StandbyEvents(agent) }}
}

// HelloWorker registers a worker, or says that it lives on, for aliveFor; w.Alive
// is not looked at. A worker that waits has no claim, nor need it repeat one that
// it was assigned: an assignment stands. Attempt 0 is that of the claim's
// grant. It may be lost with the blackboard's memory, so it is to be repeated.
func (b Cub) HelloWorker(ctx context.Context, agent string, w blackboard.Worker, aliveFor time.Duration) error {
	r, err := b.c.DoAsAgent(ctx, "worker", agent, w.Incarnation, w.Claim, strconv.Itoa(w.Attempt), store.Micros(aliveFor))
	return store.Done(r, err, "heartbeat of a worker of %s", agent)
}

// Workers returns the workers that an agent has, or had and that nobody has
// forgotten yet, by incarnation. Entries that cannot be read are left out.
func (b Roster) Workers(ctx context.Context, agent string) (map[string]blackboard.Worker, error) {
	all, err := b.c.Hash(ctx, "read workers", b.c.Keys.Workers(agent))
	if err != nil {
		return nil, err
	}
	out := make(map[string]blackboard.Worker, len(all))
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
func (b Leader) Assign(ctx context.Context, epoch, agent, incarnation, claim string, attempt int) error {
	r, err := b.c.Do(ctx, "assign", epoch, agent, incarnation, claim, strconv.Itoa(attempt))
	return store.Done(r, err, "assign claim %s to worker %s of %s", claim, incarnation, agent)
}

// Assignment returns the claim that a worker was assigned; empty: none yet.
func (b Roster) Assignment(ctx context.Context, agent, incarnation string) (claim string, err error) {
	s, err := b.c.Text(ctx, "read assignment", "HGET", b.c.Keys.Workers(agent), incarnation)
	w, _ := decodeWorker(incarnation, s)
	return w.Claim, err
}

// ForgetWorker removes the entry of a worker after its unit is gone. Its grant is
// not touched.
func (b Leader) ForgetWorker(ctx context.Context, agent, incarnation string) error {
	r, err := b.c.Do(ctx, "forget", agent, incarnation)
	return store.Done(r, err, "forget worker %s of %s", incarnation, agent)
}

// decodeWorker reads an entry as the scripts write it (worker_of in _grant.lua).
func decodeWorker(incarnation, s string) (blackboard.Worker, bool) {
	w := blackboard.Worker{Incarnation: incarnation}
	parts := strings.Split(s, " ")
	if len(parts) != 3 {
		return w, false
	}
	alive, err := store.ParseMicros(parts[0])
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

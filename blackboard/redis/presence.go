package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// TakeLead takes the lead if it is free. Otherwise it returns the present holder, without
// an epoch, and how long it still has. ErrLost: it is another board than before. A seat,
// when not empty, is a prefix of the holder's name that only one running process can have:
// a holder with the same seat takes over at once from the one before.
func (b Leader) TakeLead(ctx context.Context, holder, seat string, lease time.Duration) (lead blackboard.Lead, wait time.Duration, err error) {
	r, err := b.c.DoMarked(ctx, "lead", holder, store.Micros(lease), seat, b.c.Options.Sett)
	if err != nil {
		return blackboard.Lead{}, 0, fmt.Errorf("take the lead: %w", err)
	}
	if r.Status == "wait" {
		us, _ := strconv.ParseInt(r.Text(0), 10, 64)
		return blackboard.Lead{Holder: r.Text(1)}, max(time.Duration(us)*time.Microsecond, time.Millisecond), nil
	}
	return blackboard.Lead{Holder: holder, Epoch: r.Text(0)}, 0, store.Refused(r)
}

// RenewLead extends the lease; zero gives the lead up. ErrStale: somebody else
// leads. ErrLost: it is another board than before. Where the server's clock was set back, the ledger says so.
func (b Leader) RenewLead(ctx context.Context, l blackboard.Lead, lease time.Duration) error {
	r, err := b.c.DoMarked(ctx, "renew", l.Holder, l.Epoch, store.Micros(lease))
	if err := store.Done(r, err, "renew the lead"); err != nil || r.Text(0) == "" || lease == 0 {
		return err
	}
	r, err = b.c.Do(ctx, "clock", l.Epoch)
	return store.Done(r, err, "record that the clock was set back")
}

// NoteOverrun records in the ledger that a script without an end was ended. The id makes
// a repeated call harmless.
func (b Leader) NoteOverrun(ctx context.Context, epoch, id string, o blackboard.Overrun) error {
	r, err := b.c.Do(ctx, "overrun", epoch, id, o.Agent, o.Client(), o.User, o.Reason())
	return store.Done(r, err, "record a script without an end")
}

// Hello registers an agent's incarnation as ready, alive for ttl.
func (b Cub) Hello(ctx context.Context, agent string, p blackboard.Presence, ttl time.Duration) error {
	state := "ready"
	if p.Trouble != "" {
		state = "unhealthy"
	}
	r, err := b.c.DoAsAgent(ctx, "hello", agent, p.Incarnation, store.Encode(p), state, store.Micros(ttl), p.Trouble)
	return store.Done(r, err, "register agent %s", agent)
}

// Goodbye records that an agent's incarnation left, and why.
func (b Cub) Goodbye(ctx context.Context, agent, incarnation, reason string) error {
	r, err := b.c.DoAsAgent(ctx, "hello", agent, incarnation, "{}", "gone", "0", reason)
	return store.Done(r, err, "sign off agent %s", agent)
}

// Beat extends the time an incarnation counts as alive. ErrRefused: it is not
// registered.
func (b Cub) Beat(ctx context.Context, agent, incarnation string, ttl time.Duration) error {
	r, err := b.c.DoAsAgent(ctx, "beat", agent, incarnation, store.Micros(ttl))
	return store.Done(r, err, "heartbeat of %s", agent)
}

// Agents returns the registry: the last incarnation of each agent that ever
// reported, by name. Whether one lives is Alive compared with ServerTime.
func (b Roster) Agents(ctx context.Context) (map[string]blackboard.Presence, error) {
	all, err := b.c.Hash(ctx, "read agents", b.c.Keys.Agents())
	if err != nil || len(all) == 0 {
		return map[string]blackboard.Presence{}, err
	}
	out := make(map[string]blackboard.Presence, len(all))
	names, read := make([]string, 0, len(all)), []string{"MGET"}
	for name, s := range all {
		p := blackboard.Presence{}
		_ = json.Unmarshal([]byte(s), &p) // a broken entry is an agent that never reported
		p.Agent = name
		out[name] = p
		names, read = append(names, name), append(read, b.c.Keys.Alive(name))
	}
	until, err := b.c.Strings(ctx, "read agents", read...)
	for i, s := range until {
		holder, deadline, _ := strings.Cut(s, " ") // empty: it left
		if p := out[names[i]]; holder != "" && holder == p.Incarnation {
			if at, broken := store.ParseMicros(deadline); broken == nil {
				p.Alive = at
				out[names[i]] = p
			}
		}
	}
	return out, err
}

// ServerTime returns the blackboard's clock, by which all its times are.
func (b *Board) ServerTime(ctx context.Context) (time.Time, error) { return b.c.Now(ctx) }

// SetInstance records that the instance runs, was started anew or is being stopped, the person, and the settings that are in
// force from now on. ErrRefused when its records were written by a sett with another schema.
func (b *Board) SetInstance(ctx context.Context, m blackboard.InstanceMove) error {
	anew := ""
	if m.Anew {
		anew = "anew"
	}
	args := []string{string(m.State), m.By, store.SchemaVersion, m.With, m.Run, anew, "", "", "", "", "", ""}
	if s := m.Settings; s != nil {
		args = append(args[:6], s.Digest, s.ChangedText(), s.Sett, s.Commit, between(s.Approve), s.Branch)
	}
	r, err := b.c.Do(ctx, "instance", args...)
	return store.Done(r, err, "mark instance %s %s", b.c.Options.Instance, m.State)
}

// Restart records that a person restarts a part of the instance, and its agent (empty: it is none). The id is that of the
// restart.
func (b *Board) Restart(ctx context.Context, id, part, agent, by string) error {
	r, err := b.c.Do(ctx, "restart", id, part, agent, by)
	return store.Done(r, err, "record the restart of %s", part)
}

// State returns the instance's state; empty before it was ever set.
func (b *Board) State(ctx context.Context) (blackboard.InstanceState, error) {
	s, err := b.c.Text(ctx, "read instance", "HGET", b.c.Keys.Instance(), "state")
	return blackboard.InstanceState(s), err
}

// Running returns the grants that holders run, sorted by their start.
func (b Roster) Running(ctx context.Context) ([]blackboard.Running, error) {
	all, err := b.c.Hash(ctx, "read running grants", b.c.Keys.Running())
	if err != nil {
		return nil, err
	}
	before, err := b.c.Hash(ctx, "read running grants", b.c.Keys.Workspace())
	if err != nil {
		return nil, err
	}
	return decodeRunning(all, before), nil
}

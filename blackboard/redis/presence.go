package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// Lead is the right to decide, until its lease runs out unrenewed.
type Lead struct {
	Holder string
	Epoch  string
}

func micros(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }

// TakeLead takes the lead if it is free. Otherwise it returns how long the
// present holder still has, and no lead. A seat, when not empty, is a prefix of
// the holder's name that only one living process can have: who sits there may
// take over at once from whoever sat there before.
func (b *Board) TakeLead(ctx context.Context, holder, seat string, lease time.Duration) (lead Lead, wait time.Duration, err error) {
	r, err := b.do(ctx, "lead", holder, micros(lease), seat)
	if err != nil {
		return Lead{}, 0, fmt.Errorf("take the lead: %w", err)
	}
	if r.status == "wait" {
		us, _ := strconv.ParseInt(r.text(0), 10, 64)
		return Lead{}, max(time.Duration(us)*time.Microsecond, time.Millisecond), nil
	}
	return Lead{holder, r.text(0)}, 0, refused(r)
}

// RenewLead extends the lease; zero gives the lead up. ErrStale: somebody else
// leads.
func (b *Board) RenewLead(ctx context.Context, l Lead, lease time.Duration) error {
	r, err := b.do(ctx, "renew", l.Holder, l.Epoch, micros(lease))
	if err == nil {
		err = refused(r)
	}
	if err != nil {
		return fmt.Errorf("renew the lead: %w", err)
	}
	return nil
}

// Presence describes an agent's incarnation in the registry.
type Presence struct {
	Incarnation string `json:"incarnation"`
	Mode        string `json:"mode"`
	Version     string `json:"version"`
	PID         int    `json:"pid"`
	Health      string `json:"health"` // address of /healthz and /metrics, host:port
	Run         string `json:"run"`    // the `sett up` it belongs to
	Config      string `json:"config"` // digest of what it was started with
	Since       string `json:"since"`  // RFC 3339

	Agent string    `json:"-"`
	Alive time.Time `json:"-"` // until when; zero: it left
}

// Hello registers an agent's incarnation as ready, alive for ttl.
func (b *Board) Hello(ctx context.Context, agent string, p Presence, ttl time.Duration) error {
	if _, err := b.do(ctx, "hello", agent, p.Incarnation, encode(p), "ready", micros(ttl), ""); err != nil {
		return fmt.Errorf("register agent %s: %w", agent, err)
	}
	return nil
}

// Goodbye records that an agent's incarnation left, and why.
func (b *Board) Goodbye(ctx context.Context, agent, incarnation, reason string) error {
	if _, err := b.do(ctx, "hello", agent, incarnation, "{}", "gone", "0", reason); err != nil {
		return fmt.Errorf("sign off agent %s: %w", agent, err)
	}
	return nil
}

// Beat extends the time an incarnation counts as alive.
func (b *Board) Beat(ctx context.Context, agent, incarnation string, ttl time.Duration) error {
	if _, err := b.do(ctx, "beat", agent, incarnation, micros(ttl)); err != nil {
		return fmt.Errorf("heartbeat of %s: %w", agent, err)
	}
	return nil
}

// Agents returns the registry: the last incarnation of each agent that ever
// reported, by name. Whether one lives is Alive compared with ServerTime.
func (b *Board) Agents(ctx context.Context) (map[string]Presence, error) {
	var out map[string]Presence
	err := b.retry(ctx, "read agents", func(ctx context.Context) error {
		all, err := b.client.Do(ctx, b.client.B().Hgetall().Key(b.keys.agents()).Build()).AsStrMap()
		if err != nil {
			return err
		}
		out = make(map[string]Presence, len(all))
		names, alive := make([]string, 0, len(all)), make([]string, 0, len(all))
		for name, s := range all {
			p := Presence{}
			_ = json.Unmarshal([]byte(s), &p) // a broken entry is an agent that never reported
			p.Agent = name
			out[name] = p
			names, alive = append(names, name), append(alive, b.keys.alive(name))
		}
		if len(names) == 0 {
			return nil
		}
		until, err := b.client.Do(ctx, b.client.B().Mget().Key(alive...).Build()).ToArray()
		if err != nil {
			return err
		}
		for i, m := range until {
			s, _ := m.ToString() // absent: it left
			holder, deadline, _ := strings.Cut(s, " ")
			if p := out[names[i]]; holder != "" && holder == p.Incarnation {
				if p.Alive, err = parseMicros(deadline); err == nil {
					out[names[i]] = p
				}
			}
		}
		return nil
	})
	return out, err
}

// ServerTime returns the blackboard's clock, by which all its times are.
func (b *Board) ServerTime(ctx context.Context) (time.Time, error) {
	var now time.Time
	err := b.retry(ctx, "read time", func(ctx context.Context) error {
		t, err := b.client.Do(ctx, b.client.B().Time().Build()).AsIntSlice()
		if err == nil && len(t) == 2 {
			now = time.Unix(t[0], t[1]*1000).UTC()
		}
		return err
	})
	return now, err
}

// InstanceState says whether an instance takes work.
type InstanceState string

// The states of an instance.
const (
	InstanceRunning  InstanceState = "running"
	InstanceStopping InstanceState = "stopping"
)

// SetInstance records that the instance runs or is being stopped, and by whom.
// ErrRefused when its records were written by a sett with another schema.
func (b *Board) SetInstance(ctx context.Context, s InstanceState, by string) error {
	r, err := b.do(ctx, "instance", string(s), by, SchemaVersion)
	if err == nil {
		err = refused(r)
	}
	if err != nil {
		return fmt.Errorf("mark instance %s %s: %w", b.o.Instance, s, err)
	}
	return nil
}

// State returns the instance's state; empty before it was ever set.
func (b *Board) State(ctx context.Context) (InstanceState, error) {
	s, err := b.instanceField(ctx, "state")
	return InstanceState(s), err
}

// instanceField reads what stands about the instance itself; empty when it was
// never set.
func (b *Board) instanceField(ctx context.Context, field string) (s string, err error) {
	err = b.retry(ctx, "read instance", func(ctx context.Context) (err error) {
		s, err = b.client.Do(ctx, b.client.B().Hget().Key(b.keys.instance()).Field(field).Build()).ToString()
		if rueidis.IsRedisNil(err) {
			err = nil
		}
		return err
	})
	return s, err
}

// WorkspaceUse is one grant's use of the working tree, or its wait for it.
type WorkspaceUse struct {
	Claim, Agent string
	Mode         blackboard.WorkspaceMode
	Holder       string
	Attempt      int
	Since        time.Time
	Base, Branch string // where a writer found the tree
	Waiting      bool   // not yet held
	Restore      bool   // its holder died; the tree is to be put back
}

// Workspace returns who uses the working tree and who waits for it, sorted by
// time.
func (b *Board) Workspace(ctx context.Context) ([]WorkspaceUse, error) {
	var all map[string]string
	err := b.retry(ctx, "read workspace", func(ctx context.Context) (err error) {
		all, err = b.client.Do(ctx, b.client.B().Hgetall().Key(b.keys.workspace()).Build()).AsStrMap()
		return err
	})
	if err != nil {
		return nil, err
	}
	return decodeWorkspace(all), nil
}

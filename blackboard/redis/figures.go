package redis

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// Figures are how much of what there is on the blackboard at a moment, for
// operators. Reading them costs the same whatever has happened.
type Figures struct {
	At        time.Time // by the blackboard's clock
	Events    int64     // in the ledger
	Artefacts int64     // ever written
	Claims    int64     // ever opened
	Unclaimed Backlog   // artefacts without their claim
	Open      Backlog   // claims that are open
	Questions Backlog   // that nobody has answered
	Gates     Backlog   // artefacts that wait for approval
	Goals     Backlog   // with work outstanding
	Agents    map[string]AgentFigures
	Workspace []WorkspaceUse
}

// Backlog is how much of something there is, and since when.
type Backlog struct {
	Count  int64
	Oldest time.Time // zero: there is none
}

// AgentFigures are what one agent has to do.
type AgentFigures struct {
	Due    Backlog // claims that await its bid
	Grants Backlog // its grants that are queued or running
}

// Figures reads them in one round trip. The agents are those asked about.
func (b *Board) Figures(ctx context.Context, agents []string) (Figures, error) {
	var f Figures
	err := b.retry(ctx, "read figures", func(ctx context.Context) error {
		f = Figures{Agents: make(map[string]AgentFigures, len(agents))}
		c, k := b.client.B(), b.keys
		cmds := rueidis.Commands{c.Time().Build(), c.Xlen().Key(k.events()).Build(), c.Llen().Key(k.artefacts()).Build(),
			c.Llen().Key(k.claims()).Build(), c.Hgetall().Key(k.workspace()).Build()}
		backlogs := []string{k.unclaimed(), k.openClaims(), k.questions(), k.gates(), k.activeWorkflows()}
		for _, agent := range agents {
			backlogs = append(backlogs, k.agentDue(agent), k.agentGrants(agent))
		}
		for _, key := range backlogs {
			cmds = append(cmds, c.Zcard().Key(key).Build(), c.Zrange().Key(key).Min("0").Max("0").Withscores().Build())
		}
		r := &figuresReader{res: b.client.DoMulti(ctx, cmds...)}
		f.At = r.time()
		for _, n := range []*int64{&f.Events, &f.Artefacts, &f.Claims} {
			*n = r.count()
		}
		f.Workspace = decodeWorkspace(r.hash())
		for _, into := range []*Backlog{&f.Unclaimed, &f.Open, &f.Questions, &f.Gates, &f.Goals} {
			*into = r.backlog()
		}
		for _, agent := range agents {
			f.Agents[agent] = AgentFigures{Due: r.backlog(), Grants: r.backlog()}
		}
		return r.err
	})
	return f, err
}

// figuresReader takes replies one after the other, up to the first that is an
// error.
type figuresReader struct {
	res []rueidis.RedisResult
	err error
}

func (r *figuresReader) next() rueidis.RedisResult {
	first := r.res[0]
	r.res = r.res[1:]
	if r.err == nil {
		r.err = first.Error()
	}
	return first
}

func (r *figuresReader) count() int64 {
	n, err := r.next().ToInt64()
	r.note(err)
	return n
}

func (r *figuresReader) hash() map[string]string {
	all, err := r.next().AsStrMap()
	r.note(err)
	return all
}

func (r *figuresReader) time() time.Time {
	t, err := r.next().AsIntSlice()
	r.note(err)
	if len(t) != 2 {
		return time.Time{}
	}
	return time.Unix(t[0], t[1]*1000).UTC()
}

// backlog reads a sorted set's size and its first member, whose score is a time
// in microseconds.
func (r *figuresReader) backlog() Backlog {
	b := Backlog{Count: r.count()}
	first, err := r.next().AsZScores()
	r.note(err)
	if len(first) > 0 {
		b.Oldest, _ = parseMicros(strconv.FormatInt(int64(first[0].Score), 10))
	}
	return b
}

func (r *figuresReader) note(err error) {
	if r.err == nil {
		r.err = err
	}
}

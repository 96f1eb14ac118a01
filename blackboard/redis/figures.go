package redis

import (
	"context"
	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// Figures reads them in one round trip. The agents are those asked about.
func (b *Board) Figures(ctx context.Context, agents []string) (blackboard.Figures, error) {
	var f blackboard.Figures
	err := b.c.Retry(ctx, "read figures", func(ctx context.Context) error {
		f = blackboard.Figures{Agents: make(map[string]blackboard.AgentFigures, len(agents))}
		c, k := b.c.Client.B(), b.c.Keys
		cmds := rueidis.Commands{c.Time().Build(), c.Xlen().Key(k.Events()).Build(), c.Llen().Key(k.Artefacts()).Build(),
			c.Llen().Key(k.Claims()).Build(), c.Hgetall().Key(k.Running()).Build(), c.Hgetall().Key(k.Workspace()).Build()}
		backlogs := []string{k.Unclaimed(), k.OpenClaims(), k.Questions(), k.Gates(), k.ActiveWorkflows(), k.Landings()}
		for _, agent := range agents {
			backlogs = append(backlogs, k.AgentDue(agent), k.AgentGrants(agent))
		}
		for _, key := range backlogs {
			cmds = append(cmds, c.Zcard().Key(key).Build(), c.Zrange().Key(key).Min("0").Max("0").Withscores().Build())
		}
		r := &figuresReader{res: b.c.Client.DoMulti(ctx, cmds...)}
		f.At = r.time()
		for _, n := range []*int64{&f.Events, &f.Artefacts, &f.Claims} {
			*n = r.count()
		}
		f.Running = decodeRunning(r.hash(), r.hash())
		for _, into := range []*blackboard.Backlog{&f.Unclaimed, &f.Open, &f.Questions, &f.Gates, &f.Goals, &f.Landings} {
			*into = r.backlog()
		}
		for _, agent := range agents {
			f.Agents[agent] = blackboard.AgentFigures{Due: r.backlog(), Grants: r.backlog()}
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

// backlog reads a sorted set's size and its first member with its score, a time
// in microseconds.
func (r *figuresReader) backlog() blackboard.Backlog {
	b := blackboard.Backlog{Count: r.count()}
	first, err := r.next().AsZScores()
	r.note(err)
	if len(first) > 0 {
		b.Oldest, _ = store.ParseMicros(strconv.FormatInt(int64(first[0].Score), 10))
	}
	return b
}

func (r *figuresReader) note(err error) {
	if r.err == nil {
		r.err = err
	}
}

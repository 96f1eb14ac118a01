package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/role"
	"sett/runtime"
)

// health says how instances are.
func (x *exam) health(ctx context.Context) []finding {
	if x.meantErr != nil && x.a.flags.Name != "" {
		return []finding{wrong(x.a.flags.Name, x.meantErr)}
	}
	out := x.each(func(in *instance) []finding {
		out := []finding{x.healthOf(ctx, in)}
		if other := x.a.otherSett(in); other != "" && out[0].Status != findSkipped {
			out = append(out, warning(in.Name, x.a.upLine(in)+" restarts its parts with this one", "it was started by %s, and this is sett %s", other, x.a.builtAs()))
		}
		return out
	})
	if len(out) == 0 {
		out = append(out, skipped("there is none; sett up starts one"))
	}
	return out
}

func (x *exam) healthOf(ctx context.Context, in *instance) finding {
	if in.Runtime == config.RuntimeDocker {
		if _, err := x.engineAnswer(ctx); err != nil {
			return problem(in.Name, "start the engine", "its container engine does not answer")
		}
	}
	r := x.a.inspect(ctx, in, false)
	switch r.State {
	case stateRunning:
		return fine(in.Name, "running, %d of %d agents ready", r.Ready, r.Agents)
	case stateStopped:
		return finding{Subject: in.Name, Status: findSkipped, Finding: "it is stopped"}
	case stateUnreachable:
		return problem(in.Name, "sett logs --name "+in.Name+" blackboard", "its blackboard does not answer: %s", r.troubles())
	}
	return warning(in.Name, "sett list, and sett logs --name "+in.Name, "degraded: %s", r.troubles())
}

// troubles says what is wrong with an instance, on one line.
func (r instanceRow) troubles() string {
	var all []string
	for _, c := range []struct {
		what  string
		parts []string
	}{{"does not run", r.Down}, {"being restarted by " + r.in.restarter(), r.Restarting}, {"paused", r.Paused}, {"not ready", r.NotReady}} {
		if len(c.parts) > 0 {
			all = append(all, strings.Join(c.parts, ", ")+" "+c.what)
		}
	}
	if r.why != nil {
		all = append(all, firstLine(r.why))
	}
	return strings.Join(all, "; ")
}

// holder says who has the port of the blackboard of the instance that is meant.
func (x *exam) holder(ctx context.Context) string {
	if _, err := x.engineAnswer(ctx); err != nil && x.meant.Runtime == config.RuntimeDocker {
		return "whether by the blackboard of " + x.meant.Name + ", only its engine could tell"
	}
	switch r := x.a.inspect(ctx, x.meant, false); {
	case r.State == stateStopped, slices.Contains(r.Down, runtime.ComponentBlackboard):
		return "by another program; sett up takes another port for the blackboard of " + x.meant.Name
	case r.State == stateUnreachable:
		return "the blackboard of " + x.meant.Name + " has it, and does not answer, or another program"
	}
	return "by the blackboard of " + x.meant.Name
}

// askBoard opens the blackboard of an instance that runs; nil where there is none to ask.
func (x *exam) askBoard(ctx context.Context, in *instance) *redis.Board {
	if in.Runtime == config.RuntimeDocker && !in.External {
		if _, err := x.engineAnswer(ctx); err != nil {
			return nil
		}
	}
	b, err := x.openBoard(ctx, in.URL, in.Name)
	if err != nil {
		return nil
	}
	return b
}

func (x *exam) openBoard(ctx context.Context, url, instance string) (*redis.Board, error) {
	return redis.Open(ctx, redis.Options{
		URL: url, Instance: instance, Name: "sett-doctor", Timeout: time.Second, Retries: -1, CAFile: x.a.Getenv(env.RedisCAFile),
	})
}

// boardClock compares the blackboard's clock with this machine's.
func (x *exam) boardClock(ctx context.Context, in *instance) []finding {
	b := x.askBoard(ctx, in)
	if b == nil {
		return nil
	}
	defer b.Close()
	before := x.a.Now()
	at, err := b.ServerTime(ctx)
	if err != nil {
		return nil
	}
	return []finding{skewed("blackboard of "+in.Name, runtime.Ahead(at, before, x.a.Now()))}
}

// blackboard looks at how durable blackboards are: those of instances, and one that
// sett.yml names.
func (x *exam) blackboard(ctx context.Context) []finding {
	out := x.each(func(in *instance) []finding {
		if !in.External && (in.Runtime != config.RuntimeDocker || in.Embedded) {
			return nil // sett's own, which fsyncs all it acknowledges
		}
		b := x.askBoard(ctx, in)
		if b == nil {
			return nil // which the instance's health says
		}
		defer b.Close()
		return durable(ctx, b, in.Name, in.URL)
	})
	if c := x.sheet.config; c != nil && c.Redis.URL != "" && (x.meant == nil || x.meant.URL != c.Redis.URL) {
		out = append(out, x.ownRedis(ctx, c.Redis.URL)...)
	}
	if len(out) == 0 {
		return []finding{skipped("no Redis to ask: what Sett starts itself is durable")}
	}
	return out
}

// ownRedis looks at the Redis of the user's own that sett.yml names.
func (x *exam) ownRedis(ctx context.Context, url string) []finding {
	b, err := x.openBoard(ctx, url, "doctor")
	if err != nil {
		return []finding{problem("redis.url", "is that server up, and redis.url in "+configName+" right?", "%v", err)}
	}
	defer b.Close()
	return durable(ctx, b, "redis.url", url)
}

// durable says whether a Redis may lose or forget what it acknowledged.
func durable(ctx context.Context, b *redis.Board, subject, url string) []finding {
	d, err := b.Durability(ctx)
	if err != nil {
		return []finding{warning(subject, "", "%v", err)}
	}
	var out []finding
	set := func(what string) string {
		return fmt.Sprintf("redis-cli -u %s CONFIG SET %s, and in redis.conf", role.ShellWord(redis.Redact(url)), what)
	}
	switch {
	case d.AppendOnly == "no":
		out = append(out, warning(subject, set("appendonly yes"), "Redis %s keeps no append-only file: what was acknowledged since its last snapshot is lost when it ends", d.Version))
	case d.Fsync != "" && d.Fsync != "always":
		out = append(out, warning(subject, set("appendfsync always"), "Redis %s fsyncs %q: what was acknowledged just before a crash of the machine is lost", d.Version, d.Fsync))
	case d.AppendOnly == "" || d.Fsync == "":
		out = append(out, warning(subject, "ask who runs it: appendonly yes, appendfsync always", "Redis %s does not say how durable it is", d.Version))
	}
	if d.Eviction != "" && d.Eviction != "noeviction" {
		when := "would, were its memory limited,"
		if d.Limited {
			when = "will, when its memory is full,"
		}
		out = append(out, warning(subject, set("maxmemory-policy noeviction"), "Redis %s %s forget artefacts (%s)", d.Version, when, d.Eviction))
	}
	if len(out) == 0 {
		out = append(out, fine(subject, "Redis %s: it fsyncs what it acknowledges, and forgets nothing", d.Version))
	}
	return out
}

package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/deploy"
	"sett/roles/cli/instance"
	"sett/roles/cli/status"
	"sett/roles/role"
	"sett/roles/view"
	"sett/runtime"
)

// health says how instances are.
func (x *exam) health(ctx context.Context) []Finding {
	if x.meantErr != nil && x.at.Flags.Name != "" {
		return []Finding{wrong(x.at.Flags.Name, x.meantErr)}
	}
	out := x.each(func(in *instance.Instance) []Finding {
		out := []Finding{x.healthOf(ctx, in)}
		if other := deploy.OtherSett(in.Sett, x.at.Build.Name()); other != "" && out[0].Status != Skipped {
			out = append(out, warning(in.Name, x.at.UpLine(in)+" restarts its parts with this one", "it was started by %s, and this is sett %s", other, x.at.Build.Name()))
		} else if out[0].Status != Skipped {
			out = append(out, x.leftParts(ctx, in)...)
		}
		return out
	})
	if len(out) == 0 {
		out = append(out, skipped("there is none; sett up starts one"))
	}
	return out
}

// leftParts warns of containers of sett's own parts that run another sett than the one that started their instance, which is
// this one. A container without the label is of an older one.
func (x *exam) leftParts(ctx context.Context, in *instance.Instance) (out []Finding) {
	if in.Runtime != config.RuntimeDocker {
		return nil
	}
	place, err := x.at.Place(ctx, in)
	if err != nil {
		return nil // which has its own line
	}
	units, err := place.List(ctx, nil)
	if err != nil {
		return nil
	}
	for _, u := range units {
		own := u.Name == runtime.ComponentBlackboard && in.Embedded || u.Name == runtime.ComponentOrchestrator && !in.Host
		if other := deploy.OtherSett(u.Labels[runtime.LabelSett], in.Sett); u.Running && own && other != "" {
			out = append(out, warning(in.Name, x.at.UpLine(in)+" restarts it with this one", "its %s runs %s, and this is sett %s", u.Name, other, in.Sett))
		}
	}
	return out
}

func (x *exam) healthOf(ctx context.Context, in *instance.Instance) Finding {
	if in.Runtime == config.RuntimeDocker {
		if _, err := x.engineAnswer(ctx); err != nil {
			return problem(in.Name, "start the engine", "its container engine does not answer")
		}
	}
	r := status.Inspect(ctx, x.at, in, false)
	switch r.State {
	case status.Running:
		if schema := r.Schema(); schema != nil {
			return warning(in.Name, schema.Remedy(), "running, and %v", schema)
		}
		if lost := x.unreadable(ctx, in); len(lost) > 0 {
			return problem(in.Name, "sett show GOAL says whether a goal waits for it; sett cancel GOAL ends that one",
				"running, and goals cannot go on or be read: %s", strings.Join(lost, "; "))
		}
		return fine(in.Name, "running, %d of %d agents ready", *r.Ready, r.Agents)
	case status.Stopped:
		return x.stopped(ctx, in)
	case status.Degraded:
		if way := cmp.Or(r.WaysOn(), r.Cure()); way != "" {
			return problem(in.Name, way, "%s", r.Troubles())
		}
		if r.Unled != "" {
			return problem(in.Name, "sett logs --name "+in.Name+" orchestrator says why; sett down --name "+in.Name+" and sett up start it anew", "%s", r.Troubles())
		}
		if r.Notifier != nil && len(r.Down)+len(r.NotReady) == 0 {
			return warning(in.Name, "sett logs --name "+in.Name+" notifier; once its command works, it tells what waits", "degraded: %s", r.Troubles())
		}
	case status.Unreachable:
		if r.Busy() {
			return problem(in.Name, r.Cure(), "its blackboard answers nobody: a script on it runs without an end")
		}
		return problem(in.Name, cmp.Or(r.Cure(), "sett logs --name "+in.Name+" blackboard"), "its blackboard does not answer: %s", r.Troubles())
	}
	return warning(in.Name, "sett list, and sett logs --name "+in.Name, "degraded: %s", r.Troubles())
}

// stopped looks at an instance that is stopped. A server of the user's own can be asked all the same whether it has the ledger.
func (x *exam) stopped(ctx context.Context, in *instance.Instance) Finding {
	stopped := Finding{Subject: in.Name, Status: Skipped, Finding: "it is stopped"}
	if !in.External || !in.Known() || in.Foreign {
		return stopped
	}
	b, err := in.Glance(ctx, x.at.Terminal, connection)
	if schema := (*blackboard.SchemaError)(nil); errors.As(err, &schema) {
		return warning(in.Name, schema.Remedy(), "it is stopped, and %v", schema)
	}
	if err == nil {
		defer b.Close()
		if err = instance.OwnedByAnother(ctx, x.at, in, b); err == nil {
			err = instance.CheckBoard(ctx, x.at, in, b)
		}
	}
	if err == nil {
		return stopped
	}
	way := instance.Cure(in, err)
	if hinted := (*role.Error)(nil); errors.As(err, &hinted) {
		way = hinted.Hint
	}
	return problem(in.Name, way, "it is stopped, and its blackboard cannot be used: %v", err)
}

// mostUnreadable is how many of them are named.
const mostUnreadable = 3

// unreadable names records of open work that are lost or corrupt. What cannot be read is another finding.
func (x *exam) unreadable(ctx context.Context, in *instance.Instance) []string {
	b := x.askBoard(ctx, in)
	if b == nil {
		return nil
	}
	defer b.Close()
	o, err := view.ReadOpen(ctx, status.BoardOf(b), "")
	if err != nil {
		return nil
	}
	all := append(o.Unreadable(), lostGoals(ctx, b)...)
	if more := len(all) - mostUnreadable; more > 0 {
		all = append(all[:mostUnreadable:mostUnreadable], fmt.Sprintf("and %d more", more))
	}
	return all
}

// newestGoals is how many goals are looked at besides those that are active: one that has lost its record may not be among these.
const newestGoals = 20

// lostGoals names goals of which the record or the first artefact is lost or corrupt.
func lostGoals(ctx context.Context, b *instance.Board) (all []string) {
	ids, err := b.Index.ActiveWorkflows(ctx)
	newest, err1 := b.Index.Goals(ctx, newestGoals)
	if ids = append(ids[:min(len(ids), newestGoals)], newest...); errors.Join(err, err1) != nil {
		return nil
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	_, goals, err := b.Records.TryWorkflows(ctx, ids)
	_, artefacts, err1 := b.Records.Outlines(ctx, ids)
	if errors.Join(err, err1) != nil {
		return nil
	}
	for i := range ids {
		if err := cmp.Or(goals[i], artefacts[i]); err != nil {
			all = append(all, err.Error())
		}
	}
	return all
}

// holder names the user of the blackboard's port, for the instance that is meant.
func (x *exam) holder(ctx context.Context) string {
	if _, err := x.engineAnswer(ctx); err != nil && x.meant.Runtime == config.RuntimeDocker {
		return "whether by the blackboard of " + x.meant.Name + ", only its engine could tell"
	}
	switch r := status.Inspect(ctx, x.at, x.meant, false); {
	case r.State == status.Stopped, slices.Contains(r.Down, runtime.ComponentBlackboard):
		return "by another program; sett up takes another port for the blackboard of " + x.meant.Name
	case r.State == status.Unreachable:
		return "the blackboard of " + x.meant.Name + " has it, and does not answer, or another program"
	}
	return "by the blackboard of " + x.meant.Name
}

// connection is the doctor's name on the servers of blackboards.
const connection = "sett-doctor"

// askBoard opens the blackboard of an instance that runs; nil where there is none to ask.
func (x *exam) askBoard(ctx context.Context, in *instance.Instance) *instance.Board {
	if in.Runtime == config.RuntimeDocker && !in.External {
		if _, err := x.engineAnswer(ctx); err != nil {
			return nil
		}
	}
	b, err := in.Glance(ctx, x.at.Terminal, connection)
	if err != nil {
		return nil
	}
	return b
}

// boardClock compares the blackboard's clock with this machine's.
func (x *exam) boardClock(ctx context.Context, in *instance.Instance) []Finding {
	b := x.askBoard(ctx, in)
	if b == nil {
		return nil
	}
	defer b.Close()
	before := x.at.Now()
	at, err := b.ServerTime(ctx)
	if err != nil {
		return nil
	}
	out := []Finding{skewed("blackboard of "+in.Name, runtime.Ahead(at, before, x.at.Now()))}
	if last, err := b.Ledger.Last(ctx); err == nil && blackboard.IsAfter(last, blackboard.PositionAt(at.Add(maxSkew))) {
		out = append(out, warning("ledger of "+in.Name, "each entry of kind clock has the time by the clock",
			"its newest entry is later than the blackboard's clock, which was set back, or is behind that of an imported ledger: new entries have that time until the clock has passed it"))
	}
	return out
}

// blackboard looks at how durable blackboards are: those of instances, and one that
// sett.yml names.
func (x *exam) blackboard(ctx context.Context) []Finding {
	out := x.each(func(in *instance.Instance) []Finding {
		if !in.External && (in.Runtime != config.RuntimeDocker || in.Embedded) {
			return nil // sett's own, which fsyncs all it acknowledges
		}
		b := x.askBoard(ctx, in)
		if b == nil { // the instance's health says why
			return []Finding{{Subject: in.Name, Status: Skipped, Finding: "its Redis could not be asked"}}
		}
		defer b.Close()
		return append(durable(ctx, b, in.Name, in.URL), removed(ctx, b, in.Name)...)
	})
	if c := x.sheet.config; c != nil && c.Redis.URL != "" && (x.meant == nil || x.meant.URL != c.Redis.URL) {
		out = append(out, x.ownRedis(ctx, c.Redis.URL)...)
	}
	if len(out) == 0 {
		return []Finding{skipped("no Redis to ask: what Sett starts itself is durable")}
	}
	return out
}

// removed tells of a ledger from which somebody removed entries.
func removed(ctx context.Context, b *instance.Board, name string) []Finding {
	gone, err := b.Ledger.Removed(ctx)
	if denied := (*blackboard.DeniedError)(nil); errors.As(err, &denied) {
		return []Finding{warning("ledger of "+name, "ACL SETUSER USER +xinfo", "whether entries were removed cannot be told: %v", denied)}
	}
	if gone == nil {
		return nil // a board without an answer is another finding
	}
	return []Finding{problem("ledger of "+name, "ask who else writes to that Redis; an export from before has them", "%v", gone)}
}

// ownRedis looks at the Redis of the user's own that sett.yml names.
func (x *exam) ownRedis(ctx context.Context, address string) []Finding {
	name, err := x.at.Named()
	if err != nil || name == "" { // the keys and channels are those of the instance that sett up would make
		name = config.MakeInstanceName(filepath.Base(x.root))
	}
	b, err := instance.Glance(ctx, instance.Connection{URL: address, Instance: name, As: connection, CAFile: deploy.CAFile(x.at, x.sheet.config, x.sheet.path)})
	if denied := (*blackboard.DeniedError)(nil); errors.As(err, &denied) {
		return []Finding{problem("redis.url", denied.Remedy(), "%v", denied)}
	}
	if lacks := (*blackboard.CommandError)(nil); errors.As(err, &lacks) {
		return []Finding{problem("redis.url", lacks.Remedy(), "%v", lacks)}
	}
	if err != nil {
		return []Finding{problem("redis.url", cmp.Or(instance.Remedy(err), "is that server up, and redis.url in "+instance.ConfigName+" right?"), "%v", err)}
	}
	defer b.Close()
	return durable(ctx, b, "redis.url", address)
}

// userOf is the user of a URL.
func userOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.User.Username() != "" {
		return role.Clean(u.User.Username())
	}
	return "default"
}

// durable reports whether a Redis may lose or evict acknowledged data, or refuses its user rights that Sett needs.
func durable(ctx context.Context, b *instance.Board, subject, address string) []Finding {
	var out []Finding
	refused, err := b.Rights(ctx)
	if refused != nil {
		out = append(out, problem(subject, refused.Remedy(), "%v", refused))
	}
	if lacks := (*blackboard.CommandError)(nil); errors.As(err, &lacks) {
		out = append(out, problem(subject, lacks.Remedy(), "%v", lacks))
	}
	d, err := b.Durability(ctx)
	if refusesRight(err) {
		return append(out, warning(subject, "ACL SETUSER "+userOf(address)+" +info +config|get, then sett doctor",
			"its user may not use INFO: whether Redis keeps an append-only file, fsyncs it, drops keys when its memory is full and waits for replicas was not checked"))
	}
	if err != nil {
		return append(out, warning(subject, "", "%v", err))
	}
	set := func(what string) string { return instance.Setting(d, address, what) }
	if d.Full {
		out = append(out, problem(subject, set("maxmemory MORE"), "the memory of Redis %s is full (maxmemory), and it refuses every write", d.Version))
	}
	switch {
	case d.AppendOnly == "no":
		out = append(out, warning(subject, set("appendonly yes"), "Redis %s keeps no append-only file: what was acknowledged since its last snapshot is lost when it ends", d.Version))
	case d.Fsync != "" && d.Fsync != "always":
		out = append(out, warning(subject, set("appendfsync always"), "Redis %s fsyncs %q: what was acknowledged just before a crash of the machine is lost", d.Version, d.Fsync))
	case d.AppendOnly == "" || d.Fsync == "":
		out = append(out, warning(subject, "ask who runs it: appendonly yes, appendfsync always", "Redis %s does not say how durable it is", d.Version))
	}
	if text, remedy := instance.Evicts(d, address); text != "" {
		out = append(out, warning(subject, remedy, "%s", text))
	}
	if d.Spread && !d.Demanding {
		out = append(out, warning(subject, set("min-replicas-to-write 1"), "Redis %s acknowledges what no replica has: a failover may lose it", d.Version))
	}
	if len(out) == 0 {
		out = append(out, fine(subject, "Redis %s: it fsyncs what it acknowledges, and drops no keys", d.Version))
	}
	return out
}

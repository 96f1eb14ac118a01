package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
)

// readConfig reads sett.yml and applies the flags of the command line.
func (u *upRun) readConfig() (f *facts, err error) {
	at, o := u.at, u.options
	f = &facts{sett: at.Build.Name()}
	said := ""
	if f.desired, f.file, err = at.Config(config.WithRuntime(o.Runtime), config.NoteRuntime(&said), config.NoteEmbedded(&f.boardSaid), config.NoteWarnings(&f.doubts)); err != nil {
		return nil, err
	}
	c := f.desired
	f.boardSaid = f.boardSaid || c.Services.Redis.Image != config.DefaultRedisImage
	f.asBefore = o.Runtime == "" && said == "" && c.Runtime == config.RuntimeProcess
	if f.rights, err = instance.Rights(at, c, said, f.file); err != nil {
		return nil, err
	}
	used, err := instance.Rights(at, c, c.Runtime, f.file)
	if err != nil {
		return nil, err
	}
	f.beyond = instance.Without(used, f.rights)
	if fault := c.ObserveBy(at.Lookup); fault != "" {
		f.settings = append(f.settings, "warning: "+fault)
	}
	if o.RedisURL != "" {
		if err := checkServer(o); err != nil {
			return nil, err
		}
		c.Redis.URL, c.Services.Redis.URL = o.RedisURL, o.RedisURL
	}
	if c.Redis.URL != "" {
		if f.authority, err = readAuthority(at, c, f.file); err != nil {
			return nil, err
		}
	} else if o.TakeOver {
		return nil, role.Fail(role.Usage, errors.New("--take-over: there is no Redis of your own"), "name it with --redis-url URL, SETT_REDIS_URL or redis.url in %s", instance.ConfigName)
	}
	if o.Orchestrator != "" && c.Runtime == config.RuntimeDocker {
		c.Orchestrator.Run = o.Orchestrator
	}
	if o.Embedded {
		if c.Redis.URL != "" {
			return nil, role.Fail(role.Usage, errors.New("--embedded: there is a Redis of your own already"), "leave out redis.url and --redis-url, or --embedded")
		}
		c.Services.Redis.Embedded = c.Runtime == config.RuntimeDocker // processes have no other
	}
	return f, nil
}

// staysOnBoard keeps an instance on the Redis of the user's own with which it was up last, where nothing names a
// server: a flag or variable that is left out is no reason to begin with an empty blackboard.
func staysOnBoard(u *upRun) (err error) {
	f, c, o := u.facts, u.c, u.options
	if c.Redis.URL == "" && u.in.Known() && u.in.External && upAt(u.in) == boardOf(u.in.State) && !o.Embedded && !c.Services.Redis.Embedded {
		c.Redis.URL, c.Services.Redis.URL = u.in.URL, u.in.URL
		f.settings = append(f.settings, fmt.Sprintf("the blackboard is on %s, as before; --embedded begins with sett's own", databaseOf(u.in.URL)))
		if f.authority, err = readAuthority(u.at, c, f.file); err != nil {
			return err
		}
		if l, is := u.launch.(*containerLauncher); is {
			err = Reachable(l.engine.Endpoint(), c)
		}
		return err
	}
	if c.Redis.URL == "" {
		c.Redis.CAFile = ""
		staysEmbedded(u)
	}
	return nil
}

// staysEmbedded keeps an instance of containers on sett's own blackboard with which it was up last, likewise.
func staysEmbedded(u *upRun) {
	f, c := u.facts, u.c
	if c.Runtime == config.RuntimeDocker && !c.Services.Redis.Embedded && !f.boardSaid && u.in.Known() &&
		u.in.Runtime == config.RuntimeDocker && u.in.Embedded && !u.in.External && upAt(u.in) == boardOf(u.in.State) {
		c.Services.Redis.Embedded = true
		f.settings = append(f.settings, "the blackboard is sett's own, as before; services: {redis: {embedded: false}} in "+instance.ConfigName+" begins with Redis, after sett down")
	}
}

// gateTime is the time in which the blackboard may tell that it has a type.
const gateTime = 2 * time.Second

// Doubts leaves out the doubts about gates that an artefact of the blackboard removes. A
// blackboard that does not tell in time counts as one without such an artefact; nil: there
// is none.
func Doubts(ctx context.Context, b *instance.Board, all []config.Warning) []config.Warning {
	ctx, cancel := context.WithTimeout(ctx, gateTime)
	defer cancel()
	return slices.DeleteFunc(slices.Clone(all), func(w config.Warning) bool {
		if b == nil || w.Gate == "" {
			return false
		}
		made, err := b.Records.ListOutlines(ctx, blackboard.Filter{Type: w.Gate, Limit: 1, Broken: func(error) {}})
		return err == nil && len(made) > 0
	})
}

// doubtLine is a doubt on one line.
func doubtLine(w config.Warning) string {
	hint := ""
	if w.Hint != "" {
		hint = "; " + w.Hint
	}
	return fmt.Sprintf("warning: %s:%d:%d: %s%s", w.File, w.Line, w.Column, w.Message, hint)
}

package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"sett/runtime"
	"sett/runtime/docker/engine"
)

const (
	// callTime bounds one call to the engine that has no reason to take long.
	callTime = 30 * time.Second
	// startTime bounds a start. The engine's own part takes a fraction of a second, and
	// many seconds on an overloaded machine.
	startTime = 2 * time.Minute
	// halfTime is how long Start waits for the start of a container that somebody else
	// made, before the container counts as left from a crash.
	halfTime = 3 * time.Second
	// shortPause is the pause between two looks at a state that changes in moments.
	shortPause = 20 * time.Millisecond
	// againTime is how long Start begins anew when somebody else has the name and
	// releases it, or removes the new container.
	againTime = 10 * time.Second
)

// The reasons to begin a start anew.
var (
	errRemoved = errors.New("removed while it was being started")
	errTaken   = errors.New("the engine still holds the name of a removed container")
)

// Start makes the unit's container and starts it. It adopts a running container of
// that name; it removes an ended one and keeps its log. Two processes may start the
// same unit at the same moment: the engine gives the name to one, and the other
// adopts its container.
//
// The environment is s.Env and the image's own, such as PATH.
//
// The errors are ErrForeign, engine.ErrImage, engine.ErrPort, engine.ErrEngine or none
// of these. After any of them, and when the context ends, nothing new is left.
func (r *Runtime) Start(ctx context.Context, s runtime.Spec) (u runtime.Unit, err error) {
	defer engine.Wrap(&err, "start unit %s", s.Name)
	if err := runtime.CheckName(s.Name); err != nil {
		return u, err
	}
	sh, err := r.shapes.of(ctx, s)
	if err != nil {
		return u, err
	}
	volumes, err := r.links.check(ctx, s.Container)
	if err != nil {
		return u, err
	}
	release, err := r.units.locks.take(ctx, s.Name)
	if err != nil {
		return u, err
	}
	defer release()
	for late := r.o.Now().Add(againTime); ; {
		u, err := r.tryStart(ctx, s, sh, volumes)
		gone := err != nil && missesNetwork(err)
		again := gone || errors.Is(err, errRemoved) || errors.Is(err, errTaken)
		if !again || r.o.Now().After(late) {
			return u, err
		}
		if gone {
			r.nets.forget()
		}
		if err := pause(ctx, shortPause); err != nil {
			return u, err
		}
	}
}

// tryStart first assumes that the name is free, which is the fast way: a claim waits
// for the start.
func (r *Runtime) tryStart(ctx context.Context, s runtime.Spec, sh shape, volumes []string) (u runtime.Unit, err error) {
	if n := s.Container.Network; n != "" && s.Container.Join == "" {
		if err := r.nets.ensure(ctx, n); err != nil {
			return u, err
		}
	}
	if err := ctx.Err(); err != nil {
		return u, err
	}
	// From here on the context must not interrupt a call: nobody would know how much
	// of it the engine did.
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTime)
	defer cancel()
	helper, release, err := r.links.lend(work, s.Container, volumes)
	if err != nil {
		return u, err
	}
	defer release()
	if helper != "" {
		sh.host.VolumesFrom = []string{helper + ":ro"}
	}
	made, err := r.api.ContainerCreate(work, sh.config, sh.host, sh.network, nil, r.names.container(s.Name))
	if errdefs.IsConflict(err) {
		if u, running, err := r.settle(ctx, s.Name); err != nil || running {
			return u, err
		}
		// Gone now, or just being made: the name comes before the container.
		return u, errTaken
	}
	if err != nil {
		return u, r.explain(err, s)
	}
	for _, w := range made.Warnings {
		r.o.Logger.Debug("engine warns", "unit", s.Name, "warning", w)
	}
	if u, err = r.launch(work, made.ID, s); err == nil {
		err = ctx.Err()
	}
	if err != nil {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
		defer cancel()
		if e := r.units.remove(clean, made.ID, true); e != nil {
			r.o.Logger.Warn("container left behind", "unit", s.Name, "id", made.ID, "error", e)
		}
		return runtime.Unit{}, err
	}
	return u, nil
}

// launch prepares a new container and starts it.
func (r *Runtime) launch(ctx context.Context, id string, s runtime.Spec) (u runtime.Unit, err error) {
	if err := r.files.fill(ctx, id, s.Container); err != nil {
		return u, err
	}
	if err := r.nets.connectHub(ctx, id, s); err != nil {
		return u, err
	}
	if err := r.api.ContainerStart(ctx, id, container.StartOptions{}); err != nil {
		return u, r.explain(err, s)
	}
	c, err := r.api.ContainerInspect(ctx, id)
	if errdefs.IsNotFound(err) {
		return u, errRemoved
	}
	if err != nil {
		return u, engine.Plain(err)
	}
	u = r.units.unit(c)
	u.Running = true // it was started; Exits will tell of an end since
	return u, nil
}

// explain translates the engine's refusal for this unit.
func (r *Runtime) explain(err error, s runtime.Spec) error {
	text := engine.Plain(err)
	c := s.Container
	switch {
	case errors.Is(text, engine.ErrImage):
		return fmt.Errorf("%w: %s", engine.ErrImage, c.Image)
	case errors.Is(text, engine.ErrPort):
		return fmt.Errorf("%w: %d on 127.0.0.1", engine.ErrPort, c.Publish.Host)
	case c.Join != "" && (strings.Contains(text.Error(), r.names.container(c.Join)) || strings.Contains(text.Error(), "non running container")):
		return fmt.Errorf("join the network of unit %s: it does not run", c.Join)
	case errors.Is(text, fs.ErrNotExist) && !missesNetwork(text):
		return fmt.Errorf("%w: %w", errRemoved, text)
	}
	return text
}

var noNetwork = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`network \S+ not found|(could not|unable to) find network`)
})

// missesNetwork says whether the engine does not find the network of a unit.
func missesNetwork(err error) bool { return noNetwork().MatchString(strings.ToLower(err.Error())) }

// settle looks at the container that has the unit's name: it adopts a running one and
// removes any other.
func (r *Runtime) settle(ctx context.Context, name string) (u runtime.Unit, running bool, err error) {
	late := r.o.Now().Add(halfTime)
	for {
		c, err := r.units.find(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			return u, false, nil
		}
		if err != nil {
			return u, false, err
		}
		half := c.State.Status == container.StateCreated
		switch {
		case c.State.Running || c.State.Restarting:
			return r.units.unit(c), true, nil
		case half && r.o.Now().Before(late), c.State.Status == container.StateRemoving:
			if err := pause(ctx, shortPause); err != nil {
				return u, false, err
			}
			continue
		}
		if err := r.discard(ctx, c, false); !errors.Is(err, errRuns) { // else somebody was faster and started it
			return u, false, err
		}
	}
}

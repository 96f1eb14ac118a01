package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"sett/runtime"
)

const (
	// callTime bounds one call to the engine that has no reason to take long.
	callTime = 30 * time.Second
	// startTime bounds a start. The engine's own part takes a fraction of a second;
	// on a machine that is short of everything it may take many.
	startTime = 2 * time.Minute
	// halfTime is how long a container that somebody else made is waited for to be
	// started, before it counts as left from a crash.
	halfTime = 3 * time.Second
	// halfPause is the pause between two looks at it.
	halfPause = 20 * time.Millisecond
	// againTime is how long a start begins anew, because somebody else has the name
	// and lets it go, or removes what was just made.
	againTime = 10 * time.Second
)

// Why a start begins anew.
var (
	errRemoved = errors.New("removed while it was being started")
	errTaken   = errors.New("the engine says that its name is taken, and by nobody")
)

// Start makes the unit's container and starts it. A container of that name which
// runs is adopted; one that has ended is put aside, its log kept. Two processes
// may start the same unit at the same moment: the engine lets one have the name,
// and the other adopts it.
//
// Besides s.Env, the environment is what the image says, such as PATH.
//
// The errors are ErrForeign, ErrImage, ErrPort, ErrEngine or none of these. After
// any of them, and when the context ends, nothing that was made is left.
func (r *Runtime) Start(ctx context.Context, s runtime.Spec) (runtime.Unit, error) {
	u, err := r.start(ctx, s)
	if err != nil {
		return runtime.Unit{}, fmt.Errorf("start unit %s: %w", s.Name, err)
	}
	return u, nil
}

func (r *Runtime) start(ctx context.Context, s runtime.Spec) (runtime.Unit, error) {
	if err := runtime.CheckName(s.Name); err != nil {
		return runtime.Unit{}, err
	}
	sh, err := r.shapeOf(ctx, s)
	if err != nil {
		return runtime.Unit{}, err
	}
	release, err := r.units.take(ctx, s.Name)
	if err != nil {
		return runtime.Unit{}, err
	}
	defer release()
	for late := r.now().Add(againTime); ; {
		u, err := r.tryStart(ctx, s, sh)
		gone := err != nil && isNetwork(err)
		again := gone || errors.Is(err, errRemoved) || errors.Is(err, errTaken)
		if !again || r.now().After(late) {
			return u, err
		}
		if gone {
			r.networks.forget()
		}
		if err := pause(ctx, halfPause); err != nil {
			return u, err
		}
	}
}

// tryStart goes the direct way first, as if nothing of that name were there: a
// start is what a claim waits for.
func (r *Runtime) tryStart(ctx context.Context, s runtime.Spec, sh shape) (runtime.Unit, error) {
	if n := s.Container.Network; n != "" && s.Container.Join == "" {
		if err := r.ensureNetwork(ctx, r.networkFor(n)); err != nil {
			return runtime.Unit{}, err
		}
	}
	if err := ctx.Err(); err != nil {
		return runtime.Unit{}, err
	}
	// From here on the context must not cut a call off: what the engine did of it
	// would be anybody's guess.
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTime)
	defer cancel()
	made, err := r.e.api.ContainerCreate(work, sh.config, sh.host, sh.network, nil, r.containerName(s.Name))
	if errdefs.IsConflict(err) {
		if u, running, err := r.settle(ctx, s.Name); err != nil || running {
			return u, err
		}
		// Gone now, or just being made: the name comes before the container.
		return runtime.Unit{}, errTaken
	}
	if err != nil {
		return runtime.Unit{}, r.explain(err, s)
	}
	for _, w := range made.Warnings {
		r.log.Debug("engine warns", "unit", s.Name, "warning", w)
	}
	u, err := r.launch(work, made.ID, s)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
		defer cancel()
		if e := r.remove(clean, made.ID, true); e != nil {
			r.log.Warn("container left behind", "unit", s.Name, "id", made.ID, "error", e)
		}
		return runtime.Unit{}, err
	}
	return u, nil
}

// launch makes what was created run.
func (r *Runtime) launch(ctx context.Context, id string, s runtime.Spec) (runtime.Unit, error) {
	if err := r.fill(ctx, id, s.Container); err != nil {
		return runtime.Unit{}, err
	}
	if err := r.connectHub(ctx, id, s); err != nil {
		return runtime.Unit{}, err
	}
	if err := r.e.api.ContainerStart(ctx, id, container.StartOptions{}); err != nil {
		return runtime.Unit{}, r.explain(err, s)
	}
	c, err := r.e.api.ContainerInspect(ctx, id)
	if errdefs.IsNotFound(err) {
		return runtime.Unit{}, errRemoved
	}
	if err != nil {
		return runtime.Unit{}, plain(err)
	}
	u := r.unit(c)
	u.Running = true // it was started; should it have ended since, Exits will tell
	return u, nil
}

// explain says what the engine's refusal means for this unit.
func (r *Runtime) explain(err error, s runtime.Spec) error {
	text := plain(err)
	c := s.Container
	switch {
	case errors.Is(text, ErrImage):
		return fmt.Errorf("%w: %s", ErrImage, c.Image)
	case errors.Is(text, ErrPort):
		return fmt.Errorf("%w: %d on 127.0.0.1", ErrPort, c.Publish.Host)
	case c.Join != "" && (strings.Contains(text.Error(), r.containerName(c.Join)) || strings.Contains(text.Error(), "non running container")):
		return fmt.Errorf("join the network of unit %s: it does not run", c.Join)
	case errors.Is(text, fs.ErrNotExist) && !isNetwork(text):
		return fmt.Errorf("%w: %w", errRemoved, text)
	}
	return text
}

// settle finds out about the container that has the unit's name. It is adopted
// when it runs, and otherwise removed.
func (r *Runtime) settle(ctx context.Context, name string) (u runtime.Unit, running bool, err error) {
	late := r.now().Add(halfTime)
	for {
		c, err := r.e.api.ContainerInspect(ctx, r.containerName(name))
		if errdefs.IsNotFound(err) {
			return u, false, nil
		}
		if err != nil {
			return u, false, plain(err)
		}
		if err := r.refuseForeign(c.Config.Labels); err != nil {
			return u, false, err
		}
		half := c.State.Status == container.StateCreated
		switch {
		case c.State.Running || c.State.Restarting:
			return r.unit(c), true, nil
		case half && r.now().Before(late), c.State.Status == container.StateRemoving:
			if err := pause(ctx, halfPause); err != nil {
				return u, false, err
			}
			continue
		}
		err = r.discard(ctx, c, false)
		if errors.Is(err, errRuns) {
			continue // somebody was faster and started it
		}
		return u, false, err
	}
}

// pause waits, for want of a signal.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package cli

import (
	"context"
	"fmt"

	"sett/contract/config"
	"sett/runtime"
	"sett/runtime/docker"
)

// notifierImage says what the notifier's container is made of: the image that
// sett.yml names, else that of the first agent, which has what tools need. The
// binary is always our own: an image's might be called cub, and then be nothing
// else.
func (l *containerLauncher) notifierImage(ctx context.Context, b *binaries, got map[string]docker.Image) error {
	n := l.c.Notify
	if n == nil {
		return nil
	}
	image, own := got[runtime.ComponentNotifier]
	if !own {
		image = got[agentImage(l.c.Agents[0].Name)]
	}
	image.Entrypoint = nil
	p, err := b.program(ctx, image)
	if err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	n.Resolved = &config.Resolved{Image: p.image, Binary: p.binary}
	return nil
}

// lookForNotifier says whether the notifier is as sett.yml wants it: running, in
// its present form, or not at all.
func (w *waiting) lookForNotifier(running map[string]runtime.Unit) bool {
	unit, runs := running[runtime.ComponentNotifier]
	if w.u.c.Notify == nil {
		return !runs
	}
	ok := runs && unit.Labels[runtime.LabelConfig] == w.u.c.Notify.Digest()
	if ok && !w.notifier {
		w.notifier = true
		w.u.ready(runtime.ComponentNotifier, "")
	}
	return ok
}

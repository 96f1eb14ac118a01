package deploy

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"sett/roles/cli/live"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
)

// redrawEvery is how often the progress of images is redrawn on a terminal.
const redrawEvery = 250 * time.Millisecond

// imageLines shows how far images are: on a terminal a line for each, redrawn in place,
// elsewhere a line for each step.
type imageLines struct {
	on     *term.Terminal
	screen *live.Screen // nil: nothing is redrawn
	stop   func()

	mu    sync.Mutex
	names []string             // in the order in which they began
	last  map[string]string    // their last steps
	since map[string]time.Time // when they began
}

// showImages begins to show the progress of images. The caller calls end when all are there,
// or one is not to be had.
func showImages(ctx context.Context, on *term.Terminal) *imageLines {
	p := &imageLines{on: on, stop: func() {}, last: map[string]string{}, since: map[string]time.Time{}}
	if role.IsTerminal(on.Stderr) && on.Getenv("TERM") != "dumb" {
		p.redraw(ctx, on.Stderr)
	}
	return p
}

// redraw keeps the lines at the bottom of a terminal until end.
func (p *imageLines) redraw(ctx context.Context, out io.Writer) {
	p.screen = live.NewScreen(out, false)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	p.stop = func() { cancel(); <-ended }
	plain := func(s string, _ term.Style) string { return s }
	go func() {
		defer close(ended)
		_ = role.Every(ctx, redrawEvery, func(context.Context) error { return p.screen.Bottom(p.lines(), plain) })
	}()
}

// step notes a step of an image.
func (p *imageLines) step(name, line string) {
	if p.screen == nil {
		p.on.Sayf("  %s: %s\n", role.Clean(name), role.Clean(line))
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since[name].IsZero() {
		p.names, p.since[name] = append(p.names, name), p.on.Now()
	}
	p.last[name] = line
}

// lines are the last steps of all images, with the time that each has taken.
func (p *imageLines) lines() []live.Styled {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []live.Styled
	for _, name := range p.names {
		took := words.Age(p.on.Now().Sub(p.since[name]))
		out = append(out, live.Styled{{Text: fmt.Sprintf("  %s (%s): %s", role.Clean(name), took, role.Clean(p.last[name]))}})
	}
	return out
}

// end removes the lines that were redrawn.
func (p *imageLines) end() {
	p.stop()
	p.screen.Hold()
}

package board

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"sett/roles/cli/act"
	"sett/roles/cli/term"
)

// Board shows an instance on the terminal.
type Board struct {
	Run      act.Command
	Instance string
	Goal     string // that is shown first; empty: the present
	On       *term.Terminal
}

// Times of the program.
const (
	readTime  = 30 * time.Second // for values
	lookAgain = 2 * time.Second  // until the ledger is followed anew
	gather    = 100 * time.Millisecond
	silence   = time.Second // of a board that was left and waits for an act
	frames    = 20          // a second, at most
	mostLine  = 8 << 10     // bytes of a line of a log
)

// Show shows the board until its reader leaves or ctx ends. The terminal is then as it was.
func (b *Board) Show(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &screen{b: b, ctx: ctx, m: newModel(b.Instance, b.Goal, b.On.Now(), b.On.Clock)}
	p := tea.NewProgram(s, tea.WithContext(ctx), tea.WithInput(b.On.Stdin), tea.WithOutput(b.On.Stdout), tea.WithEnvironment(b.On.Environ()),
		tea.WithoutSignalHandler(), tea.WithFPS(frames), tea.WithColorProfile(colorprofile.ANSI))
	s.send = func(what any) { p.Send(what) }
	var beside sync.WaitGroup
	beside.Go(func() { s.guard(func() { s.follow(ctx) }) })
	beside.Go(func() { s.guard(func() { s.tick(ctx) }) })
	_, err := p.Run()
	over := ctx.Err() != nil
	cancel()
	failed := s.finish()
	beside.Wait()
	if crash := s.crashed(); crash != nil {
		return crash
	}
	if err != nil && !over {
		return fmt.Errorf("show board: %w", err)
	}
	return failed
}

// finish waits for the act under way, which is bounded, and tells of an outcome that the board
// did not show any more: it is recorded all the same.
func (s *screen) finish() error {
	late := time.AfterFunc(silence, func() { s.b.On.Sayf("sett: waits for the end of the last act\n") })
	s.acts.Wait()
	late.Stop()
	t := s.outcome.Swap(nil)
	if t == nil {
		return nil
	}
	if t.err == nil && t.done.Says != "" {
		s.b.On.Sayf("sett: %s\n", strings.ReplaceAll(t.done.Says, "\n", "\nsett: "))
	}
	return t.err
}

// screen runs the model.
type screen struct {
	b    *Board
	ctx  context.Context
	m    *model
	send func(any)
	acts sync.WaitGroup
	stop context.CancelFunc // ends the log that is followed; nil: none is

	outcome atomic.Pointer[wasDone] // that the board has not shown yet

	mu    sync.Mutex
	crash error
}

// crashNow says that the program has to end.
type crashNow struct{}

// guard runs a part, and ends the program with an error where it panics: the terminal
// has to be as it was.
func (s *screen) guard(part func()) {
	defer func() {
		if r := recover(); r != nil {
			s.fail(r)
			s.send(crashNow{})
		}
	}()
	part()
}

func (s *screen) fail(r any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crash == nil {
		s.crash = fmt.Errorf("the board crashed: %v", r)
	}
}

func (s *screen) crashed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.crash
}

// guarded turns a panic into an error.
func guarded(part func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it crashed: %v", r)
		}
	}()
	return part()
}

// Init reads the first values.
func (s *screen) Init() tea.Cmd { return s.carry(s.m.stir()) }

// Update takes a key, or news.
func (s *screen) Update(what tea.Msg) (_ tea.Model, next tea.Cmd) {
	defer func() {
		if r := recover(); r != nil {
			s.fail(r)
			next = tea.Quit
		}
	}()
	switch t := what.(type) {
	case crashNow:
		return s, tea.Quit
	case tea.WindowSizeMsg:
		s.m.columns, s.m.rows = max(t.Width, 1), max(t.Height, 1)
	case tea.KeyPressMsg:
		return s, s.carry(s.m.key(t.String()))
	case tea.PasteMsg:
		s.m.paste(t.Content)
	case tea.ResumeMsg:
		return s, tea.Batch(tea.ClearScreen, s.carry(s.m.stir()))
	case wasDone:
		s.outcome.Store(nil)
		return s, s.carry(s.m.told(t))
	default:
		return s, s.carry(s.m.told(what))
	}
	return s, nil
}

// View draws the screen.
func (s *screen) View() (v tea.View) {
	defer func() {
		if r := recover(); r != nil {
			s.fail(r)
			v = tea.View{AltScreen: true}
			go s.send(crashNow{})
		}
	}()
	return tea.View{AltScreen: true, Content: strings.Join(s.m.draw(s.b.On.Paint), "\n")}
}

// carry carries out effects.
func (s *screen) carry(all []effect) tea.Cmd {
	var commands []tea.Cmd
	for _, e := range all {
		switch e := e.(type) {
		case reads:
			commands = append(commands, func() tea.Msg { return s.read(e.pane) })
		case waits:
			commands = append(commands, tea.Tick(e.Duration, func(time.Time) tea.Msg { return due{e.delay} }))
		case does:
			s.acts.Go(func() { s.do(e) }) // a command of the program is not begun for sure when that ends
		case follows:
			s.followLog(e)
		case leaves:
			commands = append(commands, tea.Quit)
		case suspends:
			commands = append(commands, tea.Suspend)
		case redraws:
			commands = append(commands, tea.ClearScreen)
		}
	}
	return tea.Batch(commands...)
}

// do does an act.
func (s *screen) do(e does) {
	t := wasDone{}
	t.err = guarded(func() (err error) {
		t.done, err = s.b.Run.Do(s.ctx, e.move, e.id, e.wish)
		return err
	})
	s.outcome.Store(&t)
	s.send(t)
}

func (s *screen) read(p pane) tea.Msg {
	ctx, cancel := context.WithTimeout(s.ctx, readTime)
	defer cancel()
	t := wasRead{pane: p.number, place: p.place}
	begun := time.Now()
	t.err = guarded(func() (err error) {
		t.values, t.matters, err = read(ctx, s.b.Run, s.b.Instance, p.place)
		return err
	})
	t.took = time.Since(begun)
	return t
}

// tick tells the time.
func (s *screen) tick(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.send(passed{s.b.On.Now()})
		case <-ctx.Done():
			return
		}
	}
}

// follow tells of each entry of the ledger, as long as the program runs.
func (s *screen) follow(ctx context.Context) {
	from := "5s" // so that no entry is missed while the first values are read
	for ctx.Err() == nil {
		entries := &act.Lines{Each: func(line []byte) error {
			var e struct{ ID string }
			if decode(line, &e) == nil && e.ID != "" {
				from = e.ID
			}
			s.send(happened{})
			return ctx.Err()
		}}
		messages := act.Message(func(name, text string) error { s.send(message{name, text}); return nil })
		err := s.b.Run(ctx, []string{"watch", "--since=" + from, "--output=jsonl"}, strings.NewReader(""), entries, messages)
		if ctx.Err() != nil {
			return
		}
		why := "the ledger is not followed"
		if err != nil {
			why = act.ProblemOf(err).Error
		}
		s.send(message{act.Away, why})
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return
		}
		if s.b.Run(ctx, []string{"goals", "--limit=1", "--output=json"}, strings.NewReader(""), io.Discard, io.Discard) == nil {
			s.send(message{act.Back, ""})
		}
	}
}

// followLog follows a log instead of the one before.
func (s *screen) followLog(e follows) {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
	if e.pane == 0 {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.stop = cancel
	go s.guard(func() {
		var mu sync.Mutex
		var held []string
		over := make(chan struct{})
		flush := func() {
			mu.Lock()
			lines := held
			held = nil
			mu.Unlock()
			if len(lines) > 0 && ctx.Err() == nil {
				s.send(logged{e.pane, lines})
			}
		}
		go s.guard(func() {
			ticker := time.NewTicker(gather)
			defer ticker.Stop()
			for {
				select {
				case <-ticker.C:
					flush()
				case <-over:
					return
				}
			}
		})
		lines := &act.Lines{Each: func(b []byte) error {
			mu.Lock()
			defer mu.Unlock()
			if held = append(held, string(b[:min(len(b), mostLine)])); len(held) > 2*mostLog {
				held = append([]string(nil), held[mostLog:]...)
			}
			return ctx.Err()
		}}
		err := guarded(func() error {
			return s.b.Run(ctx, append([]string{"logs", "--follow", "--lines=200"}, e.args...), strings.NewReader(""), lines, io.Discard)
		})
		close(over)
		flush()
		if ctx.Err() == nil {
			s.send(logEnded{e.pane, err})
		}
	})
}

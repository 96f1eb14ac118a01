package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	xterm "golang.org/x/term"

	"sett/blackboard"
	"sett/roles/cli/board"
	"sett/roles/cli/term"
	"sett/roles/cli/term/ttytest"
	"sett/roles/role"
)

// drawn is a terminal that a program draws on, with a person at it.
type drawn struct {
	*call
	t      *testing.T
	master *os.File
	end    *os.File // of the program
	grid   *ttytest.Grid
	before *xterm.State
}

// patience is the time that a loaded machine may take to show something.
const patience = 5 * time.Minute

func newDrawn(t *testing.T, columns, rows int) *drawn {
	t.Helper()
	master, end, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	d := &drawn{t: t, master: master, end: end, grid: ttytest.NewGrid(columns, rows)}
	d.resize(columns, rows)
	if d.before, err = xterm.GetState(int(end.Fd())); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(d.grid, master) }()
	t.Cleanup(func() { _, _ = end.Close(), master.Close() })
	return d
}

func (d *drawn) resize(columns, rows int) {
	d.t.Helper()
	d.grid.Resize(columns, rows)
	if err := pty.Setsize(d.master, &pty.Winsize{Rows: uint16(rows), Cols: uint16(columns)}); err != nil {
		d.t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil { // it is not the terminal that this process belongs to
		d.t.Fatal(err)
	}
}

// until waits until the terminal shows all of some texts.
func (d *drawn) until(texts ...string) {
	d.t.Helper()
	d.meets("it shows "+strings.Join(texts, ", "), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

func (d *drawn) meets(what string, met func(screen string) bool) {
	d.t.Helper()
	for end := time.Now().Add(patience); !met(d.grid.String()); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatalf("not within %s: %s. It shows\n%s", patience, what, d.grid)
		}
	}
}

func (d *drawn) types(keys string) {
	d.t.Helper()
	if _, err := io.WriteString(d.master, keys); err != nil {
		d.t.Fatal(err)
	}
}

// ended waits for the program's end, and compares the terminal with that of before.
func (d *drawn) ended(done <-chan error) error {
	d.t.Helper()
	var err error
	select {
	case err = <-done:
	case <-time.After(patience):
		d.t.Fatalf("it does not end. It shows\n%s", d.grid)
	}
	after, failed := xterm.GetState(int(d.end.Fd()))
	if failed != nil {
		d.t.Fatal(failed)
	}
	if !reflect.DeepEqual(d.before, after) {
		d.t.Errorf("the terminal's settings are %+v, were %+v", after, d.before)
	}
	if _, failed := d.end.WriteString("<end>"); failed != nil {
		d.t.Fatal(failed)
	}
	d.until("<end>")
	if d.grid.Alternate || d.grid.Hidden {
		d.t.Errorf("second screen %t, hidden cursor %t", d.grid.Alternate, d.grid.Hidden)
	}
	for _, unknown := range d.grid.Unknown {
		d.t.Errorf("sent %s", unknown)
	}
	return err
}

// board starts the board on a terminal.
func (s *stage) onBoard(columns, rows int, args ...string) *drawn {
	s.t.Helper()
	d := newDrawn(s.t, columns, rows)
	s.vars = map[string]string{"TERM": "vt100", term.EnvUser: "anna", "NO_COLOR": "1"}
	s.terminal = d.end
	defer func() { s.terminal = nil }()
	d.call = s.start(append([]string{"board"}, args...)...)
	return d
}

// A person sees the present, answers, approves, rejects, finds a goal, follows a log and
// leaves; the ledger has it all with the person's name.
func TestBoard(t *testing.T) {
	s := newStage(t)
	ids := s.tell()
	_, held := s.holds(blackboard.Standard)
	d := s.onBoard(100, 40)
	d.until("stage is", "2 matters wait for you", "writer asks", "Which one:", "red or blue?", "Release of writer waits for approval", "try the impossible")
	d.types("a")
	d.until("Answer question")
	d.types("red, \x1b[200~not\nblue\x1b[201~\r")
	d.until("1 matter waits for you", "is answered")
	d.types("yyy")
	d.until("Approve Release", "enter: yes")
	if events := s.Events(blackboard.EventApprove); len(events) > 0 {
		t.Fatalf("approved without a yes: %+v", events)
	}
	d.types("\r")
	d.until("nobody asks", "is approved")
	answers, approvals := s.Events(blackboard.EventAnswer), s.Events(blackboard.EventApprove)
	if len(answers) != 1 || answers[0].Attributes[blackboard.AttributeBy] != "anna" || s.Artefact(answers[0].Artefact).Payload != "red, not\nblue" {
		t.Errorf("answers %+v", answers)
	}
	if len(approvals) != 1 || approvals[0].Attributes[blackboard.AttributeBy] != "anna" || approvals[0].Artefact != held {
		t.Errorf("approvals %+v", approvals)
	}
	_, other := s.holds(blackboard.Standard)
	d.until("Release of writer waits for approval")
	d.types("n")
	d.until("Reject Release")
	d.types("too early\r")
	d.until("This cannot be undone")
	d.types("y")
	d.until("is rejected")
	if rejected := s.Events(blackboard.EventReject); len(rejected) != 1 || rejected[0].Artefact != other || rejected[0].Attributes[blackboard.AttributeBy] != "anna" {
		t.Errorf("rejections %+v", rejected)
	}

	d.types("2")
	d.until("[2 Goals]", "choose a colour", "write a page")
	d.types("/badgers\r")
	d.until("/badgers")
	d.meets("no other goal", func(screen string) bool { return !strings.Contains(screen, "choose a colour") })
	d.types("\x1b")
	d.until("choose a colour")
	d.types("/write a page\r")
	d.meets("no other goal", func(screen string) bool { return !strings.Contains(screen, "choose a colour") })
	d.types("\r")
	d.until("[timeline]", "write a page", "achieved", "· waits for bids")
	d.types("\x1b[C")
	d.until("[result]", "it is done")
	d.types("\t\t\t\t")
	d.until("[ledger]", "goal achieved", "bids exclusive")

	d.types("1")
	d.until("[1 Now]", "Agents")
	d.types("/impossible\r")
	d.until("/impossible")
	s.said("lint", ids["failedClaim"], "before \x1b]52;c;eA==\x07\u202e漢字")
	d.types("l")
	d.until("[log of goal ", `before \x1b]52;c;eA==\a\u202e漢字`)
	s.said("lint", ids["failedClaim"], "and it goes on")
	d.until("and it goes on")
	for columns := 100; columns >= 20; columns -= 8 {
		d.resize(columns, 8)
	}
	d.until("sett stage is stopp…", "[lo…", "enter opens  a answ…")
	d.resize(120, 40)
	d.until("enter opens")
	d.types("?")
	d.until("follow the log of an agent")
	d.types("q")
	if err := d.ended(d.done); err != nil {
		t.Error(err)
	}
}

// A goal is cancelled with a reason, after a yes; and the board begins at a goal.
func TestBoardCancels(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("paint it")
	s.open(goal, s.all("writer", blackboard.BidExclusive)...)
	d := s.onBoard(80, 24, "--goal", "@last")
	d.until("[timeline]", "paint it", "active")
	d.types("x")
	d.until("Cancel goal")
	d.types("no longer needed\r")
	d.until("This cannot be undone")
	d.types("y")
	d.until("is cancelled", "failed")
	if all := s.Events(blackboard.EventCancel); len(all) != 1 || all[0].Attributes[blackboard.AttributeBy] != "anna" {
		t.Errorf("%+v", all)
	}
	d.types("\x03")
	if err := d.ended(d.done); err != nil {
		t.Error(err)
	}
}

// When the blackboard goes, the board says that it is old, and it recovers by itself.
func TestBoardRecovers(t *testing.T) {
	s := newStage(t)
	s.Goal("paint it")
	d := s.onBoard(80, 24)
	d.until("· live", "Agents")
	s.Server.Kill()
	d.until("OLD, as of", "Agents")
	s.Server.Restart()
	d.until("· live")
	s.asks("choose a colour", "Which one?")
	d.until("Which one?", "1 matter waits for you")
	d.stop() // as SIGTERM does
	if err := d.ended(d.done); err != nil {
		t.Error(err)
	}
}

// The terminal is as it was, also after a crash.
func TestBoardCrash(t *testing.T) {
	t.Parallel()
	d := newDrawn(t, 80, 24)
	crash := make(chan struct{})
	e := role.Env{Stdin: d.end, Stdout: d.end, Stderr: d.end, Environ: func() []string { return []string{"TERM=vt100"} }, Lookup: func(string) (string, bool) { return "", false },
		Now: func() time.Time {
			select {
			case <-crash:
				panic("on purpose")
			default:
				return time.Now()
			}
		}}
	on := term.New(e)
	b := &board.Board{Instance: "badgers", On: &on, Run: func(ctx context.Context, args []string, _ io.Reader, out, _ io.Writer) error {
		if args[0] == "watch" {
			<-ctx.Done()
			return ctx.Err()
		}
		panic("a command crashes on purpose")
	}}
	done := make(chan error, 1)
	go func() { done <- b.Show(t.Context()) }()
	d.until("badgers", "it crashed: a command crashes on purpose")
	close(crash)
	if err := d.ended(done); err == nil || !strings.Contains(err.Error(), "the board crashed: on purpose") {
		t.Errorf("ended with %v", err)
	}
}

// A person who leaves during an act reads its outcome after it, and its error is the board's.
func TestBoardLeftDuringAct(t *testing.T) {
	for name, failed := range map[string]error{"done": nil, "refused": role.Fail(role.Failed, errors.New("it has ended"), "")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDrawn(t, 80, 24)
			begun, release := make(chan struct{}), make(chan struct{})
			on := term.New(role.Env{Stdin: d.end, Stdout: d.end, Stderr: d.end, Environ: func() []string { return []string{"TERM=vt100"} },
				Lookup: func(string) (string, bool) { return "", false }, Now: time.Now})
			b := &board.Board{Instance: "badgers", Goal: "01KE00000000000000GOAL0001", On: &on, Run: func(ctx context.Context, args []string, _ io.Reader, _, messages io.Writer) error {
				switch args[0] {
				case "watch":
					<-ctx.Done()
					return ctx.Err()
				case "cancel":
					close(begun)
					<-release
					if failed == nil {
						_, _ = io.WriteString(messages, "sett: goal GOAL0001 is cancelled\n")
					}
					return failed
				}
				return errors.New("there is nothing to read")
			}}
			done := make(chan error, 1)
			go func() { done <- b.Show(t.Context()) }()
			d.until("[timeline]")
			d.types("x")
			d.until("Cancel goal")
			d.types("no longer needed\r")
			d.until("This cannot be undone")
			d.types("y")
			<-begun
			d.types("\x03")
			d.until("waits for the end of the last act")
			close(release)
			if err := d.ended(done); !errors.Is(err, failed) {
				t.Errorf("ended with %v", err)
			}
			if failed == nil {
				d.until("sett: goal GOAL0001 is cancelled")
			}
		})
	}
}

// Without a terminal that can be drawn on, the board names the other commands.
func TestBoardNeedsTerminal(t *testing.T) {
	s := newStage(t)
	s.vars = map[string]string{"TERM": "vt100"}
	s.refuses(role.Usage, "needs a terminal", "board")
	d := newDrawn(t, 80, 24)
	s.terminal, s.vars = d.end, map[string]string{"TERM": "dumb"}
	err := s.start("board").wait()
	if role.CodeOf(err) != role.Usage || !strings.Contains(hint(err), "sett watch") || !strings.Contains(hint(err), "sett ui") {
		t.Errorf("TERM=dumb: %v, hint %q", err, hint(err))
	}
	s.stdin = strings.NewReader("q")
	s.vars = map[string]string{"TERM": "vt100"}
	if err := s.start("board").wait(); role.CodeOf(err) != role.Usage {
		t.Errorf("keys from a file: %v", err)
	}
}

// A question of megabytes takes no time from keys: each draw handles its beginning alone.
func TestBoardLongQuestion(t *testing.T) {
	s := newStage(t)
	s.asks("paint it", strings.Repeat("a", 4<<20))
	d := s.onBoard(100, 40)
	d.until("writer asks", "aaaa", "    …")
	d.types(strings.Repeat("jk", 50) + "a")
	d.until("Answer question")
	d.types("red\r")
	d.until("nobody asks", "is answered")
	d.types("q")
	if err := d.ended(d.done); err != nil {
		t.Error(err)
	}
}

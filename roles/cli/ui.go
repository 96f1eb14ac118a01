package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"sett/contract/env"
	"sett/roles/cli/act"
	"sett/roles/cli/board"
	"sett/roles/cli/instance"
	"sett/roles/cli/ledger"
	"sett/roles/cli/term"
	"sett/roles/cli/ui"
	"sett/roles/role"
)

type uiCmd struct {
	Goal   string `placeholder:"ID" help:"Open the page at this goal; @last is the newest."`
	NoOpen bool   `name:"no-open" help:"Print the address, and open no browser."`
	Port   int    `placeholder:"N" help:"The page's port on the loopback address (default, and 0: that of last time, else a free one)."`
}

// Help is shown by `sett ui --help`.
func (uiCmd) Help() string {
	return `Shows the clan at work in a browser of this machine: what needs you, with the answer right
there; agents, goals, artefacts, the clan's plan and the ledger, live. It serves until Ctrl-C or
sett down --purge, and prints the page's address, which opens the page once and within 15 minutes.

Nobody else can read the page: it is served on this machine's own address, to the browser that
opened the printed one. Linux also keeps other users of the machine from it, and tools of agents.
What you do there is recorded with your name, as on the command line.
From another machine: ssh -L PORT:127.0.0.1:PORT, with the same port on both sides.

Programs read the same from /api/v1: the path is a command, the query its flags, the answer
that of -o json. The key is in the address to which the printed one leads.

` + whoHelp + `

Examples:
  sett ui
  sett ui --goal @last
  sett ui --no-open --port 8080`
}

type boardCmd struct {
	Goal string `placeholder:"ID" help:"Begin with this goal; @last is the newest."`
}

// Help is shown by `sett board --help`.
func (boardCmd) Help() string {
	return `Shows the clan at work on this terminal, live, with the keyboard alone: what needs you, agents
with the last line of their tools, waits, models and failures; the goals; and of each its timeline, result,
story, graph, changes and ledger.

Arrow keys, or j and k, move; enter opens, esc goes back; 1 and 2 show Now and Goals, tab the parts
of a goal; / filters; l follows the log of an agent or goal; a answers a question, y approves and n
rejects what waits for approval; x cancels a goal, t tries a failed one again; ? lists all keys, q
leaves. All acts but answers are asked once more.

It needs a terminal; sett watch, sett list and sett ui show the same without one.

` + whoHelp + `

Examples:
  sett board
  sett board --goal @last`
}

// Run shows the board until its reader leaves.
func (c *boardCmd) Run(a *app) error {
	if !role.IsTerminal(a.Stdin) || !role.IsTerminal(a.Stdout) || a.Getenv("TERM") == "dumb" {
		return role.Fail(role.Usage, errors.New("sett board needs a terminal that can be drawn on, with a keyboard"), "sett watch and sett list print the same, and sett ui shows it in a browser")
	}
	in, goal, err := (&uiCmd{Goal: c.Goal}).about(a)
	if err != nil {
		return err
	}
	a.Hold.On() // the terminal has to be put back
	b := &board.Board{Run: commandsOn(a, in), Instance: in.Name, Goal: goal, On: &a.Terminal}
	return b.Show(a.ctx)
}

// Run serves the page until the user's interrupt.
func (c *uiCmd) Run(a *app) error {
	if c.Port > 65535 {
		return role.Fail(role.Usage, fmt.Errorf("there is no port %d", c.Port), "")
	}
	in, goal, err := c.about(a)
	if err != nil {
		return err
	}
	server := &ui.Server{
		Run: commandsOn(a, in), Instance: in.Name, Again: a.at.CommandLine(in, "ui"),
		Keys: &ui.Keys{Who: a.Who(), Now: a.Now, Entropy: a.Entropy, File: pageFile{a.ctx, in}}, Users: ui.Users(a.Getenv("SUDO_UID")),
	}
	l, err := server.Listen(c.Port)
	if err != nil {
		return role.Fail(role.Environment, err, "choose another port with --port")
	}
	address, err := server.Address(goal)
	if err != nil {
		_ = l.Close()
		return err
	}
	a.Printf("%s\n", address)
	opened := ""
	if !c.NoOpen {
		remove, ok := openBrowser(a, server, in, address)
		defer remove()
		if !ok {
			opened = "; open this address in a browser"
		}
	}
	a.Sayf("sett: the page of %s is served until Ctrl-C%s\n", in.Name, opened)
	ctx, cancel := context.WithCancelCause(a.ctx)
	defer cancel(nil)
	go func() { cancel(removal(ctx, a, in)) }()
	if err := server.Serve(ctx, l); a.ctx.Err() != nil || ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// pageLook is the time between two looks at whether the instance of a page is still there.
const pageLook = time.Second

// removal returns an error once an instance is removed: its page can show nothing any more, and would keep the port.
func removal(ctx context.Context, a *app, in *instance.Instance) error {
	return role.Every(ctx, pageLook, func(context.Context) error {
		if fate := instance.FateOf(in); fate == instance.Removed {
			return ledger.Gone(a.at, in, fate, "")
		}
		return nil
	})
}

// about finds the instance, which has to run, and the goal.
func (c *uiCmd) about(a *app) (in *instance.Instance, goal string, err error) {
	b, in, done, err := a.at.Board(a.ctx)
	if err != nil {
		return nil, "", err
	}
	defer done()
	if c.Goal != "" {
		goal, err = a.resolveWorkflow(a.ctx, b, c.Goal)
	}
	return in, goal, err
}

// commandsOn returns the function that runs a command line on an instance.
func commandsOn(a *app, in *instance.Instance) act.Command {
	global := []string{"--color=never", "--name=" + in.Name}
	if f := a.flags; f.Directory != "" {
		global = append(global, "--directory="+f.Directory)
	}
	if f := a.flags; f.Config != "" {
		global = append(global, "--config="+f.Config)
	}
	shared := &walks{}
	return func(ctx context.Context, args []string, stdin io.Reader, out, messages io.Writer) error {
		e := a.Env
		e.Args, e.Stdin, e.Stdout, e.Stderr = append(append([]string{}, global...), args...), stdin, out, messages
		on := newApp(ctx, e)
		on.walks = shared
		defer on.at.Close()
		return term.Fitted(e.Stderr, run(ctx, on, e))
	}
}

// pageFile keeps what the page's servers have to remember.
type pageFile struct {
	ctx context.Context
	in  *instance.Instance
}

// pageLock is the lock of those that write the file.
const pageLock = "ui"

// pageLockTime is how long a server waits for another that writes.
const pageLockTime = 10 * time.Second

// Lock keeps other servers of the instance from writing it.
func (f pageFile) Lock() (unlock func(), err error) {
	if !f.in.Known() { // the lock would make its folder again
		return nil, fmt.Errorf("instance %s is gone", f.in.Name)
	}
	ctx, cancel := context.WithTimeout(f.ctx, pageLockTime)
	defer cancel()
	return f.in.Processes().Lock(ctx, pageLock)
}

// Read reads it.
func (f pageFile) Read(v any) error { return instance.ReadFile(f.path(), v) }

// Write replaces it.
func (f pageFile) Write(v any) error { return instance.WriteFile(f.path(), v) }

func (f pageFile) path() string { return filepath.Join(f.in.Dir, "ui.json") }

// openBrowser has the desktop open the page, where there is one and a person looks; it
// says whether it was asked. remove clears away what that needed.
func openBrowser(a *app, server *ui.Server, in *instance.Instance, address string) (remove func(), ok bool) {
	none, program := func() {}, "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	} else if a.Getenv("DISPLAY") == "" && a.Getenv("WAYLAND_DISPLAY") == "" {
		return none, false
	}
	if !role.IsTerminal(a.Stdout) {
		return none, false
	}
	for _, dir := range filepath.SplitList(a.Getenv("PATH")) {
		if found, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			program = found
			break
		}
	}
	remove, err := ui.Opener{Program: program, Dir: ui.OpenerDir(in.Dir, env.Home(a.Getenv))}.Open(server, address)
	if err != nil {
		return none, false
	}
	return remove, true
}

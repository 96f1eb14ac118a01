package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sett/agents/demo"
	"sett/contract/env"
	"sett/roles/cli/grammar"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/words"
)

type demoCmd struct {
	Models bool `help:"Play a clan of language models from a recording."`
	Down   bool `help:"End the demo's instance afterwards and forget what happened in it."`
}

// Help is shown by `sett demo --help`.
func (demoCmd) Help() string {
	return `Makes a small git repository in the directory for temporary files, starts a clan of six
shell scripts on it, gives them a goal and shows how they reach it: a draft with a
fault, two reviews, a rework, tests and documentation at the same time, a release.

It needs git and a shell, no network and no keys, and takes a few seconds. The
instance stays up for a look around, until sett down.

With --models the clan are five language models with tools, whose answers come from a
recording: a specification, a program with a fault, a review, a rework, tests, a report.

Examples:
  sett demo --down
  sett demo --models --down`
}

// show is one run of the demo: a session of commands as a user would type them.
type show struct {
	*app
	story story
	repo  string
	up    bool // something may be running
}

// story is a demo: its repository, its goal, and the program that comes of it.
type story struct {
	name, goal, title, watch string
	write                    func(dir string) error
	program                  []string // and its arguments
	stdin                    string   // a file; empty: none
	next                     [][2]string
}

// scripts is the demo of a clan of scripts.
func scripts() story {
	return story{
		name: demo.Name, goal: demo.Goal, title: "A repository of small programs, and a clan of six shell scripts",
		watch: "Give it a goal, and watch: the first draft has a fault", write: demo.Write,
		program: []string{"sh", "bin/topwords", "3"}, stdin: "README.md",
		next: [][2]string{
			{"sett logs writer", "what the tools of an agent said"},
			{fmt.Sprintf("sett try writer --goal %q", demo.Another), "one agent alone, with nothing recorded"},
			{fmt.Sprintf("sett forage --wait --goal %q", demo.Another), "another goal"},
			{"cat sett.yml clan/writer.sh", "how a clan and an agent are written"},
		},
	}
}

// thinkers is the demo of a clan of models.
func thinkers() story {
	return story{
		name: demo.ModelsName, goal: demo.ModelsGoal, title: "A repository of small programs, and a clan of five language models, replayed",
		watch: "Give it a goal, and watch: the first draft has a fault", write: demo.WriteModels,
		program: []string{"sh", "bin/greet", "Ada"},
		next: [][2]string{
			{"sett logs coder", "the steps of one of the models"},
			{"cat sett.yml", "how a clan of models is written"},
		},
	}
}

// Run plays the demo.
func (c *demoCmd) Run(a *app) error {
	began := a.Now()
	a.Hold.On()
	s := &show{app: unnamed(a), story: scripts()}
	if c.Models {
		s.story = thinkers()
	}
	if err := s.makeRepository(a.ctx); err != nil {
		return err
	}
	err := s.play(a.ctx)
	if err != nil {
		return s.abandon(err)
	}
	if c.Down {
		s.title("End it")
		if err := s.sett(a.ctx, "down", "--purge", "--yes"); err != nil {
			return err
		}
		a.Printf("\nThat took %s. The repository is in %s.\n", words.Span(a.Now().Sub(began)), s.repo)
		return nil
	}
	s.next(began)
	return nil
}

// unnamed is the app without the user's choice of an instance: the demo has its own.
func unnamed(a *app) *app {
	own := *a
	if !a.flags.Quiet {
		own.Stderr = a.Stdout // one stream, in the order of a terminal's
	}
	own.Lookup = func(name string) (string, bool) {
		if name == env.DefaultName {
			return "", false
		}
		return a.Lookup(name)
	}
	own.at = a.at.With(&own.Terminal, instance.Flags{})
	return &own
}

// makeRepository writes the demo's repository and commits it.
func (s *show) makeRepository(ctx context.Context) error {
	top, err := os.MkdirTemp("", "sett-demo-")
	if err == nil {
		top, err = filepath.EvalSymlinks(top)
	}
	if err == nil {
		s.repo = filepath.Join(top, s.story.name)
		err = os.Mkdir(s.repo, 0o755)
	}
	if err == nil {
		err = s.story.write(s.repo)
	}
	if err != nil {
		return role.Fail(role.Environment, fmt.Errorf("make the demo's repository: %w", err), "TMPDIR names the directory for temporary files")
	}
	g := git.At(s.Environ(), s.repo)
	const who, mail = "Sett demo", "demo@wordkit.invalid"
	for _, args := range [][]string{
		{"init", "--quiet", "--template="},
		{"symbolic-ref", "HEAD", "refs/heads/main"},
		// The user's own settings must not ask for a key or run hooks here.
		{"config", "user.name", who}, {"config", "user.email", mail}, {"config", "commit.gpgSign", "false"},
		{"config", "core.hooksPath", ".git/hooks"}, {"config", "core.autocrlf", "false"}, {"config", "core.fileMode", "true"},
		{"add", "--all"},
		{"commit", "--quiet", "-m", "Start " + s.story.name},
	} {
		if _, err := g.Run(ctx, args...); err != nil {
			_ = os.RemoveAll(top)
			return fmt.Errorf("make the demo's repository: %w", err)
		}
	}
	return nil
}

// play is the session.
func (s *show) play(ctx context.Context) error {
	s.title(s.story.title)
	s.Printf("%s\n", s.Paint("$ cd "+s.repo, term.Bold))
	if err := s.git(ctx, "log", "--oneline"); err != nil {
		return err
	}
	s.title("Start the clan")
	if err := instance.AgreeToOwn(s.at.With(&s.Terminal, instance.Flags{Directory: s.repo})); err != nil {
		return err
	}
	s.up = true
	if err := s.sett(ctx, "up", "--runtime", "process"); err != nil {
		return err
	}
	s.title(s.story.watch)
	if err := s.sett(ctx, "forage", "--wait=60s", "--goal", s.story.goal); err != nil {
		return err
	}
	s.title("Bring the result to your branch: until now, nothing here has changed")
	if err := s.sett(ctx, "land"); err != nil {
		return err
	}
	s.title("The commits that came of it")
	if err := s.git(ctx, "log", "--graph", "--format=%h  %<(10)%an  %s"); err != nil {
		return err
	}
	s.title("Every artefact on the way, and what each was made from")
	if err := s.sett(ctx, "hoard", "--workflow", "@last"); err != nil {
		return err
	}
	id, err := s.terminal(ctx)
	if err != nil {
		return err
	}
	s.title("The result")
	if err := s.sett(ctx, "unearth", words.Short(id)); err != nil {
		return err
	}
	s.Printf("\n")
	return s.program(ctx)
}

// terminal returns the id of the goal's Terminal.
func (s *show) terminal(ctx context.Context) (string, error) {
	own := *s.app
	own.at = s.at.With(&own.Terminal, instance.Flags{Directory: s.repo})
	b, _, done, err := own.at.Board(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	goal, _, err := own.resolve(ctx, b, grammar.LastGoal)
	if err != nil {
		return "", err
	}
	w, err := b.Records.Workflow(ctx, goal)
	return w.TerminalID, err
}

// program runs the clan's finished program.
func (s *show) program(ctx context.Context) error {
	typed := "$ " + strings.Join(s.story.program[1:], " ")
	cmd := exec.CommandContext(ctx, s.story.program[0], s.story.program[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.repo, s.Stdout, s.Stderr
	if s.story.stdin != "" {
		typed += " <" + s.story.stdin
		text, err := os.Open(filepath.Join(s.repo, s.story.stdin))
		if err != nil {
			return err
		}
		defer func() { _ = text.Close() }()
		cmd.Stdin = text
	}
	s.Printf("%s\n", s.Paint(typed, term.Bold))
	return cmd.Run()
}

// title prints the heading of the next step.
func (s *show) title(text string) { s.Printf("\n%s\n", s.Paint("# "+text, term.Accent)) }

// sett runs a command of ours in the repository, as if it had been typed.
func (s *show) sett(ctx context.Context, args ...string) error {
	s.Printf("%s\n", s.Paint("$ sett "+typed(args), term.Bold))
	e := s.Env
	e.Args = append(s.ownFlags(), args...)
	return Run(ctx, e)
}

// ownFlags are the flags of every command of the demo; they are not shown.
func (s *show) ownFlags() []string {
	flags := []string{"-C", s.repo, "--color", s.flags.Color}
	if s.flags.Quiet {
		flags = append(flags, "--quiet")
	}
	return flags
}

// git runs a git command in the repository and prints its output.
func (s *show) git(ctx context.Context, args ...string) error {
	s.Printf("%s\n", s.Paint("$ git "+typed(args), term.Bold))
	out, err := git.At(s.Environ(), s.repo).Run(ctx, append([]string{"--no-pager"}, args...)...)
	s.Printf("%s", role.CleanText(out))
	return err
}

// typed is how arguments are typed in a shell.
func typed(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if strings.ContainsAny(a, " %<>()|&;$*?'\"") {
			out[i] = `"` + a + `"`
			if flag, value, ok := strings.Cut(a, "="); ok && strings.HasPrefix(flag, "--") {
				out[i] = flag + `="` + value + `"`
			}
		}
	}
	return strings.Join(out, " ")
}

// next lists commands to try on the instance.
func (s *show) next(began time.Time) {
	s.title("That took " + words.Span(s.Now().Sub(began)) + ". The clan stays up in its repository: look around")
	s.Printf("  cd %s\n", s.repo)
	t := s.Table()
	for _, c := range slices.Concat([][2]string{
		{"sett show @last", "the goal, its claims, who bid, who worked, for how long"},
		{"sett watch --since all", "the ledger: every step, and what comes (Ctrl-C ends it)"},
	}, s.story.next, [][2]string{{"sett down", "when you have seen enough (--purge forgets it)"}}) {
		t.Row("  "+c[0], term.Cell{Text: c[1], As: term.Dim})
	}
	_ = t.Write(s.Stdout)
}

// abandon ends a demo that failed or was interrupted. After an interrupt it also
// takes the demo's instance down. Where nothing was started, its repository goes.
func (s *show) abandon(err error) error {
	if !s.up {
		_ = os.RemoveAll(filepath.Dir(s.repo))
		return err
	}
	interrupted := s.ctx.Err() != nil
	if interrupted {
		s.Sayf("sett: interrupted, ending the demo\n")
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), time.Minute)
		defer cancel()
		e := s.Env
		e.Args = append(s.ownFlags(), "down", "--purge", "--yes")
		if err := Run(ctx, e); err != nil {
			role.Report(s.Stderr, err)
		}
		return role.Fail(role.Interrupted, errors.New("interrupted"), "the repository is in %s", s.repo)
	}
	return role.Fail(role.CodeOf(err), fmt.Errorf("demo: %w", err), "sett -C %s logs shows more, sett -C %s down --purge ends it", s.repo, s.repo)
}

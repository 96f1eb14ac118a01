package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

type forageCmd struct {
	Goal string   `placeholder:"TEXT" help:"The goal."`
	File string   `placeholder:"FILE" help:"Read the goal from FILE; - is standard input."`
	Wait waitFlag `placeholder:"[=DURATION]" help:"Follow the goal to its end, or for so long."`
	Text []string `arg:"" optional:"" help:"The goal, as plain words; - reads it from standard input."`
}

// Help is shown by `sett forage --help`.
func (forageCmd) Help() string {
	return `Gives the clan a goal. Agents work on what is committed, so everything has to be; while
an agent is changing the working tree, forage waits for it. The goal's id goes to stdout.

With --wait, what happens goes to stderr, and the exit code says how it ended: 0 achieved,
1 failed, 4 the time was not enough, 5 only a person can go on, 6 it ended without a
Terminal. The goal goes on, whoever stops waiting.

Examples:
  sett forage --goal "Add a --json flag to the report command" --wait
  sett forage --wait=10m Fix the flaky test in parser_test.go
  sett forage - < goal.md`
}

// Run posts the goal.
func (c *forageCmd) Run(a *app) error {
	text, err := c.goal(a)
	if err != nil {
		return err
	}
	b, in, done, err := a.board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := a.readyForWork(b, in); err != nil {
		return err
	}
	from, err := b.Last(a.ctx)
	if err != nil {
		return err
	}
	id := a.NewID()
	err = b.PostGoal(a.ctx, blackboard.Artefact{
		ID: id, LogicalID: id, Version: 1, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined,
		Payload: text, ProducedByRole: blackboard.RoleUser, WorkflowID: id,
	})
	if errors.Is(err, blackboard.ErrStopping) {
		return role.Fail(role.NotFound, fmt.Errorf("instance %s is being stopped and takes no new goals", in.Name), "sett up")
	}
	if err != nil {
		return err
	}
	a.warnOfAbsent(b, in)
	a.printf("%s\n", id)
	if !c.Wait.given {
		a.sayf("sett: goal %s is posted; sett watch --workflow %s follows it\n", short(id), short(id))
		return nil
	}
	return a.await(b, in, id, from, c.Wait.limit)
}

// goal returns the goal's text, which is given in exactly one way.
func (c *forageCmd) goal(a *app) (string, error) {
	const hint = `sett forage --goal "…"`
	words := strings.Join(c.Text, " ")
	given := 0
	for _, s := range []string{c.Goal, c.File, words} {
		if s != "" {
			given++
		}
	}
	if given > 1 {
		return "", role.Fail(role.Usage, errors.New("the goal is given twice"), "either --goal, --file or plain words")
	}
	text := c.Goal + words
	file := c.File
	if words == "-" || c.Goal == "-" {
		file = "-"
	}
	if file != "" {
		var err error
		if text, err = a.readText("goal", file); err != nil {
			return "", err
		}
	}
	return text, a.checkText("goal", text, hint)
}

// maxText is the largest text of a person's that is taken, in bytes.
const maxText = 8 << 20

// readText reads a file of the user's, relative to -C; - is standard input. One
// newline at the end is the editor's, not the text's.
func (a *app) readText(what, name string) (string, error) {
	from := a.Stdin
	if name != "-" {
		path, err := a.pathOf(name)
		if err != nil {
			return "", err
		}
		f, err := os.Open(path)
		if err != nil {
			return "", role.Fail(role.Usage, fmt.Errorf("read %s from %s: %w", what, clean(name), cause(err)), "")
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("it is larger than %d MiB", maxText>>20)
	}
	if err != nil {
		return "", role.Fail(role.Usage, fmt.Errorf("read %s: %w", what, cause(err)), "")
	}
	return strings.TrimSuffix(string(text), "\n"), nil
}

// readyForWork makes sure that the workspace is a git repository with everything
// committed. An agent's unfinished work is waited for.
func (a *app) readyForWork(b *redis.Board, in *instance) error {
	g := a.repository(in.Workspace)
	inside, err := g.inside(a.ctx)
	if err != nil {
		return err
	}
	if !inside {
		return role.Fail(role.Usage, fmt.Errorf("workspace %s is no git repository", in.Workspace), "git init && git add -A && git commit")
	}
	if g.head(a.ctx) == "" {
		return role.Fail(role.Usage, fmt.Errorf("workspace %s has no commit yet", in.Workspace), `git add -A && git commit -m "first commit"`)
	}
	every := time.NewTicker(100 * time.Millisecond)
	defer every.Stop()
	for said := ""; ; {
		files, err := g.dirt(a.ctx)
		if err != nil || len(files) == 0 {
			return err
		}
		// Read after the status: a writer that has ended by now may have left a
		// clean tree behind in between, so the tree is looked at once more.
		writer, err := a.writer(b)
		if err != nil {
			return err
		}
		if writer == "" {
			if files, err = g.dirt(a.ctx); err != nil || len(files) == 0 {
				return err
			}
			if writer, err = a.writer(b); err != nil {
				return err
			}
		}
		if writer == "" {
			return notCommitted(files)
		}
		if writer != said {
			a.sayf("sett: waiting for %s, which is changing the working tree\n", writer)
			said = writer
		}
		select {
		case <-a.ctx.Done():
			return a.ctx.Err()
		case <-every.C:
		}
	}
}

// writer names the grant that may change the working tree now, if any.
func (a *app) writer(b *redis.Board) (string, error) {
	uses, err := b.Workspace(a.ctx)
	if err != nil {
		return "", err
	}
	for _, u := range uses {
		if u.Mode == blackboard.ReadWrite && !u.Waiting {
			return fmt.Sprintf("%s (claim %s)", u.Agent, short(u.Claim)), nil
		}
	}
	return "", nil
}

// notCommitted names the files that are in the way, ten at most.
func notCommitted(files []dirt) error {
	const most = 10
	lines := []string{"the working tree is not clean; agents work on what is committed"}
	for i, f := range files {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(files)-most))
			break
		}
		lines = append(lines, fmt.Sprintf("%-11s  %s", f.what(), clean(f.path)))
	}
	return role.Fail(role.Usage, errors.New(strings.Join(lines, "\n")),
		`git add -A && git commit -m "…", or put them aside with git stash -u`)
}

// warnOfAbsent says when nobody is there to do the work now. The goal is kept, so
// that is no error.
func (a *app) warnOfAbsent(b *redis.Board, in *instance) {
	c, err := in.config()
	if err != nil {
		return
	}
	present, err := b.Agents(a.ctx)
	if err != nil {
		return
	}
	now, err := b.ServerTime(a.ctx)
	if err != nil {
		return
	}
	var absent []string
	for _, name := range c.Names() {
		if present[name].Alive.Before(now) {
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 {
		a.sayf("sett: warning: not running: %s; the goal waits for them (sett list, sett logs %s)\n", strings.Join(absent, ", "), absent[0])
	}
}

// waitFlag is a flag that may have a duration: --wait or --wait=10m.
type waitFlag struct {
	given bool
	limit time.Duration // 0: for ever
}

// IsBool makes kong take the flag without a value.
func (*waitFlag) IsBool() bool { return true }

// Decode reads the value, if there is one.
func (p *waitFlag) Decode(ctx *kong.DecodeContext) error {
	p.given = true
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	s := fmt.Sprint(ctx.Scan.Pop().Value)
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is no duration such as 90s or 10m", s)
	}
	p.limit = d
	return nil
}

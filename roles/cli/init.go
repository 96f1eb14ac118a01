package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/deploy"
	"sett/roles/cli/instance"
	"sett/roles/cli/starter"
	"sett/roles/cli/trial"
	"sett/roles/cub/assemble"
	"sett/roles/role"
	"sett/roles/role/confine"
	"sett/roles/role/git"
	"sett/roles/role/words"
	"sett/runtime/repofile"
)

type initCmd struct {
	Example string `enum:",check,review,test,question,commit,llm-coder,llm-reviewer,llm-clan,byo" default:"" placeholder:"KIND" help:"Add a working agent instead, also to a sett.yml that is there: check, review, test, question, commit, llm-coder, llm-reviewer, llm-clan or byo."`
	Model   string `placeholder:"NAME" help:"Of llm-coder, llm-reviewer, llm-clan and byo: the model, by its name at the provider."`
	Yes     bool   `short:"y" help:"Add the checks that fit the repository, and run each once, without asking."`
	Force   bool   `help:"Overwrite files that exist."`
	Commit  bool   `help:"Commit what was written."`
}

// Help is shown by `sett init --help`.
func (initCmd) Help() string {
	return `Writes sett.yml, with comments, and agents/example-agent/, whose agent works as it is,
into the root of the git repository (without one, into the current directory).
Overwrites nothing unless told to.

In a repository with Go, Node, Python, Rust or a Makefile it proposes checks of its commits:
formatters, linters and tests, each one line of sett.yml. Agreed to, on the terminal or by
--yes, they come in place of the example agent, with an agent that commits; each is run
once on HEAD, on this machine. A check whose program is missing becomes a comment.

--example adds agents to the sett.yml that is there, or to a new one, and their programs
to agents/examples/:
  commit    writes each goal into a file, which Sett commits; reports
  check     looks at each commit with an ordinary program, whose exit code decides
  review    reviews each commit with a script
  test      tests each commit beside other work
  question  asks a person about each goal
  llm-coder, llm-reviewer: a language model works on each goal, or reviews each commit
  llm-clan  five models: specification, program, review, tests, report
  byo       a script of your own asks a model by curl about each goal
Where no agent works on goals, commit or llm-coder comes along. For the last four,
--model names the model, unless sett.yml has one.

Beside sett.yml it writes ` + starter.SchemaName + `, which the first line of sett.yml names:
editors with a YAML language server complete and check sett.yml by it. Commit it, so that
it does so for everybody; nothing of sett reads it. After an upgrade of sett, sett schema
prints it anew.

Examples:
  sett init --commit && sett up
  sett init --example check --commit
  sett init --example llm-reviewer --model NAME`
}

// initPlan is what an init writes.
type initPlan struct {
	files []starter.File
	added []string // agents that sett.yml gets beside those that it has
	own   bool     // all of sett.yml is Sett's own words
	kind  string   // of the example; empty: none
	next  string   // the goal to type, where an example has one
	ours  []string // the files that --commit commits, written or there already

	replaced bool // the clan of an earlier sett init goes, which nobody has changed
}

// exampleGoals show the examples at work.
var exampleGoals = map[string]string{
	"commit":       `sett forage --goal "Buy milk" --wait`,
	"check":        `sett forage --goal "TODO: buy milk" --wait    # the check rejects it; watch the rework`,
	"review":       `sett forage --goal "Buy milk, bread, butter, cheese, and whatever else is missing" --wait`,
	"test":         `sett forage --goal "Buy milk" --wait`,
	"llm-coder":    `sett forage --goal "Say hello in a new file" --wait`,
	"llm-reviewer": `sett forage --goal "Say hello in a new file" --wait`,
	"llm-clan":     `sett forage --goal "Add a program that greets the person it is given" --wait`,
	"byo":          `sett forage --goal "Say hello in a new file" --wait`,
	"question":     `sett forage --goal "Buy milk" --wait    # ends with the command that answers`,
}

// Run writes the first files of a workspace.
func (c *initCmd) Run(a *app) error {
	dir, err := a.at.Directory()
	if err != nil {
		return err
	}
	root, inGit := instance.Upward(dir, ".git")
	if !inGit {
		root = dir
		if err := instance.WithTree(dir); err != nil {
			return err
		}
	}
	w := initPlace{dir: root, inGit: inGit, git: git.At(a.Environ(), root), at: a.at.With(&a.Terminal, instance.Flags{Directory: root, Config: instance.ConfigName})}
	if dir := a.at.Relative(root); dir != "." {
		w.cd = "cd " + dir + " && "
	}
	p, err := c.plan(a.ctx, w)
	if err != nil {
		return err
	}
	if c.Example == "" {
		if err := c.propose(a, w, &p); err != nil {
			return err
		}
		if p.replaced && p.kind == "" && !c.Force { // nothing fits that could take its place
			return c.refuse(a.ctx, w, p.files)
		}
	}
	for _, f := range p.files {
		if err := f.Write(root); err != nil {
			return role.Fail(role.Failed, err, "")
		}
		verb := "wrote"
		if len(p.added) > 0 && f.Path == instance.ConfigName {
			verb = "added " + strings.Join(p.added, ", ") + " to"
		}
		a.Printf("%s %s\n", verb, a.at.Relative(filepath.Join(root, filepath.FromSlash(f.Path))))
	}
	if p.replaced && p.kind != "" {
		a.Sayf("sett: note: this replaces the clan of the sett init before, which nobody has changed; agents/example-agent is left\n")
	}
	if p.own {
		if err := instance.AgreeToOwn(w.at); err != nil {
			a.Sayf("sett: warning: %v; sett try will ask\n", err)
		}
	}
	return c.commit(a, w, p)
}

// initPlace is the directory that gets the files.
type initPlace struct {
	dir   string
	inGit bool
	git   git.Repository
	at    *instance.Locator
	cd    string // the beginning of a command line to type for it
}

// plan finds the files to write, and refuses to overwrite others.
func (c *initCmd) plan(ctx context.Context, w initPlace) (p initPlan, err error) {
	root := w.dir
	if c.Example == "" {
		if c.Model != "" {
			return p, role.Fail(role.Usage, errors.New("--model is for an example that asks a model"), "sett init --example llm-coder --model %s", c.Model)
		}
		if p.files, err = starter.Base(confine.Level() > 0); err != nil {
			return p, err
		}
		p.own, p.ours = true, starter.Paths(p.files)
		before, _ := repofile.Read(root, filepath.Join(root, instance.ConfigName), config.MaxSource)
		if p.replaced = c.Yes && starter.Untouched(before, confine.Level() > 0); c.Force || p.replaced {
			return p, nil
		}
		missing := slices.DeleteFunc(slices.Clone(p.files), func(f starter.File) bool { return f.Same(root) })
		switch {
		case len(missing) == 0 && c.Commit:
			p.files = nil // a commit was refused before
		case len(missing) > 0 && !instance.Exists(filepath.Join(root, instance.ConfigName)):
			p.files = missing // the rest is from a sett init before
		}
		return p, c.refuse(ctx, w, p.files)
	}
	before, err := repofile.Read(root, filepath.Join(root, instance.ConfigName), config.MaxSource)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p, role.Fail(role.Failed, fmt.Errorf("read %s: %w", instance.ConfigName, role.Cause(err)), "")
	}
	edited := false // sett.yml is not committed: as this command left it when its commit was refused, or by the person's own edits
	if c.Commit && w.inGit && !starter.Untouched(before, confine.Level() > 0) {
		if edited, err = starter.Uncommitted(ctx, w.git, instance.ConfigName); err != nil {
			return p, err
		}
		if edited {
			before = starter.Committed(ctx, w.git, instance.ConfigName)
		}
	}
	if p.replaced = starter.Untouched(before, confine.Level() > 0); p.replaced {
		before = nil // its agent would take the goals that the example is about
	}
	e, err := starter.Add(c.Example, string(before), c.Model, confine.Level() > 0, instance.KeptRuntime(w.at))
	if err != nil {
		return p, err
	}
	p.next, p.own, p.kind = exampleGoals[c.Example], e.Fresh, c.Example
	if !e.Fresh {
		p.added = e.Agents
	}
	p.ours = starter.Paths(e.Files)
	// Programs that other examples brought are the same, unless somebody changed them.
	p.files = slices.DeleteFunc(e.Files, func(f starter.File) bool { return f.Same(root) })
	if edited && slices.Contains(starter.Paths(p.files), instance.ConfigName) {
		return p, role.Fail(role.Usage, fmt.Errorf("commit %s: it has changes that are not committed", instance.ConfigName),
			"commit them first: %sgit add %s && git commit; or leave --commit out", w.cd, instance.ConfigName)
	}
	if c.Force {
		return p, nil
	}
	return p, c.refuse(ctx, w, starter.Programs(p.files))
}

// propose offers checks that fit the repository, and plans them where they are wanted.
func (c *initCmd) propose(a *app, w initPlace, p *initPlan) error {
	root := w.dir
	checks := starter.Propose(root, func(program string) bool { _, err := exec.LookPath(program); return err == nil })
	if !slices.ContainsFunc(checks, func(c starter.Check) bool { return c.Reason == "" }) {
		a.Sayf("%s", starter.Unfit(checks))
		return nil
	}
	wanted := c.Yes
	switch {
	case c.Yes:
	case !role.IsTerminal(a.Stdin):
		var names []string
		for _, c := range checks {
			names = append(names, c.Name)
		}
		a.Sayf("sett: note: checks that fit this repository: %s; sett init --yes adds them\n", strings.Join(names, ", "))
	default:
		for _, c := range checks {
			a.Sayf("  %-12s %s%s\n", c.Name, role.Clean(strings.Join(c.Command, " ")), words.Because(cmp.Or(c.Reason, c.Found)))
		}
		var err error
		if wanted, err = a.Confirm("Add these checks of commits, with an agent that commits, and run each once on this machine?", "--yes"); err != nil {
			return err
		}
	}
	if !wanted {
		return nil
	}
	if err := tryChecks(a, root, checks); err != nil {
		return err
	}
	e, err := starter.Checked(checks)
	if err != nil {
		return err
	}
	p.files, p.ours, p.next, p.kind = e.Files, starter.Paths(e.Files), exampleGoals["commit"], "commit"
	switch {
	case c.Force:
		return nil
	case p.replaced:
		return c.refuse(a.ctx, w, slices.DeleteFunc(starter.Programs(p.files), func(f starter.File) bool { return f.Same(root) }))
	}
	return c.refuse(a.ctx, w, p.files)
}

// tryChecks runs each check once on HEAD. One that cannot be run gets the reason.
func tryChecks(a *app, root string, checks []starter.Check) error {
	e, err := starter.Checked(checks)
	if err != nil {
		return err
	}
	cfg, err := config.Parse(instance.ConfigName, e.Files[len(e.Files)-1].Text)
	if err != nil {
		return err
	}
	if commit, _ := git.At(a.Environ(), root).Named(a.ctx, "HEAD"); commit == "" {
		a.Sayf("sett: note: the checks were not run: there is no commit yet; sett try NAME --type CodeCommit runs one\n")
		return nil
	}
	var rejecting []string
	for i, check := range checks {
		agent, active := cfg.Agent(check.Name)
		if !active {
			a.Printf("%-12s not added: %s\n", check.Name, check.Reason)
			continue
		}
		t := &trial.Trial{Terminal: &a.Terminal, Agent: agent, Root: root, Instance: config.MakeInstanceName(filepath.Base(root)),
			Own: deploy.NewPinning(cfg, root, filepath.Join(root, instance.ConfigName)), As: "review", Quiet: true}
		if err := t.Invent(a.ctx, cfg, trial.Invention{Type: blackboard.TypeCodeCommit, Payload: "HEAD", Goal: "Try the checks"}); err != nil {
			return err
		}
		t.Goal = assemble.Goal(t.Target, t.Chain)
		if err := t.Run(a.ctx); err != nil {
			return err
		}
		r := t.Report()
		switch {
		case r.Problem != nil:
			checks[i].Reason = words.FirstLine(errors.New(role.Clean(r.Problem.Reason)))
			a.Printf("%-12s not added: %s\n", check.Name, checks[i].Reason)
		case r.Artefact != nil && r.Artefact.Verdict == blackboard.Approve:
			a.Printf("%-12s approves HEAD\n", check.Name)
		case r.Artefact != nil:
			a.Printf("%-12s rejects HEAD%s\n", check.Name, words.Because(role.Clean(r.Artefact.Summary)))
			rejecting = append(rejecting, check.Name)
		}
	}
	if len(rejecting) > 0 {
		a.Sayf("sett: warning: HEAD fails %s, and so do the commits of goals until HEAD is mended; or remove these checks from sett.yml\n", strings.Join(rejecting, ", "))
	}
	return nil
}

// refuse is an error where files exist. Those that are not committed may be a person's work, which nothing proposes to overwrite.
func (c *initCmd) refuse(ctx context.Context, w initPlace, files []starter.File) error {
	again := "sett init"
	if c.Example != "" {
		again += " --example " + c.Example
	}
	if c.Yes {
		again += " --yes"
	}
	exist := slices.DeleteFunc(starter.Paths(files), func(path string) bool {
		_, err := os.Lstat(filepath.Join(w.dir, filepath.FromSlash(path)))
		return err != nil
	})
	if len(exist) == 0 {
		return nil
	}
	verb := "exists"
	if len(exist) > 1 {
		verb = "exist"
	}
	err := fmt.Errorf("write %s: %s already %s", w.dir, strings.Join(exist, ", "), verb)
	if c.Commit && w.inGit && instance.Exists(filepath.Join(w.dir, instance.ConfigName)) {
		if edited, _ := starter.Uncommitted(ctx, w.git, exist...); edited {
			there := slices.DeleteFunc([]string{instance.ConfigName, starter.SchemaName, "agents"}, func(path string) bool { return !instance.Exists(filepath.Join(w.dir, path)) })
			return role.Fail(role.Usage, err, "%s commits what is there", w.line(c.message(), there))
		}
	}
	return role.Fail(role.Usage, err, "%s --force overwrites them", again)
}

// message is that of the commit.
func (c *initCmd) message() string {
	if c.Example != "" {
		return "Add a sett example: " + c.Example
	}
	return "Add a sett clan"
}

// line is the command line that commits files.
func (w initPlace) line(message string, paths []string) string {
	return fmt.Sprintf("%sgit add %s && git commit -m %q", w.cd, strings.Join(paths, " "), message)
}

// commit commits the written files, or prints the command for that.
func (c *initCmd) commit(a *app, w initPlace, p initPlan) error {
	folders := []string{instance.ConfigName, starter.SchemaName, "agents/example-agent"}
	next := "sett up    # --runtime process: without containers"
	if p.kind != "" {
		folders[2] = "agents/examples"
		if p.replaced && instance.Exists(filepath.Join(w.dir, "agents", "example-agent")) {
			folders = append(folders, "agents/example-agent")
		}
		next += "\n  " + p.next
	}
	line := w.line(c.message(), folders)
	switch {
	case !w.inGit && c.Commit:
		return role.Fail(role.Environment, fmt.Errorf("commit: %s is in no git repository", w.dir), "git init && %s", line)
	case !w.inGit:
		a.Sayf("\nNext:\n  git init\n  %s\n  %s\n", line, next)
		return nil
	case !c.Commit:
		a.Sayf("\nNext:\n  %s\n  %s\n", line, next)
		return nil
	}
	if p.kind != "" {
		p.ours = append(p.ours, leftOf(w.dir)...)
	}
	made, err := starter.Commit(a.ctx, w.git, c.message(), w.cd, p.ours)
	switch {
	case err != nil:
		return err
	case made == "":
		a.Sayf("sett: all of it is committed already\n\nNext:\n  %s\n", next)
		return nil
	}
	a.Printf("committed %s\n", role.Clean(strings.TrimSpace(made)))
	a.Sayf("\nNext:\n  %s\n", next)
	return nil
}

// leftOf are the programs of the clan of an earlier sett init that nobody has changed.
func leftOf(root string) []string {
	base, _ := starter.Base(confine.Level() > 0)
	return starter.Paths(slices.DeleteFunc(starter.Programs(base), func(f starter.File) bool { return !f.Same(root) }))
}

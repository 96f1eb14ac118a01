package landing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/roles/cli/commit"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/store"
	"sett/roles/role/words"
)

// The ways of a commit to a branch.
const (
	Already     = blackboard.AlreadyThere
	FastForward = "fast-forward"
	Merge       = "merge"
	Rebase      = "rebase"
	Squash      = "squash"
)

// Plan is a landing, before it is made and after.
type Plan struct {
	Artefact  string        `json:"artefact_id"`
	Goal      string        `json:"workflow_id"`
	Commit    string        `json:"commit"` // of the artefact
	Branch    string        `json:"branch"`
	Directory string        `json:"directory,omitempty"`  // the working tree that has the branch; absent: none
	From      string        `json:"from"`                 // the branch's commit before; empty: it had none
	To        string        `json:"to"`                   // and after
	How       string        `json:"how"`                  // already there, fast-forward, merge, rebase or squash
	Commits   []Step        `json:"commits"`              // that the branch gets, oldest first
	Older     []Step        `json:"older,omitempty"`      // that come along though they are older than the goal, as they were before the landing
	Files     []commit.File `json:"files"`                // that they change
	Undo      string        `json:"undo,omitempty"`       // the command that takes the branch back
	Modules   []string      `json:"submodules,omitempty"` // that get another commit: their files are for git submodule update
	Landed    bool          `json:"landed"`               // false: with --dry-run, or it was there already
	Lacking   []string      `json:"lacking,omitempty"`    // files of git LFS whose content is nowhere at hand: pointers landed

	as    string              // the user, for new commits
	unrun map[string][]string // files, by the filter that is not run for them
	git   string              // the beginning of a command for git in the working tree
	moved git.Moved
	sign  string         // the command that signs the new commits, which the user's settings want; empty: nothing does
	alone string         // the commands that bring the goal's commits without older ones
	short string         // the result's name, for people
	cut   *git.Cut       // a landing that was cut off in the working tree; nil: none was
	repo  git.Repository // the user's
	in    *instance.Instance
}

// Step is a commit that a branch gets.
type Step struct {
	Hash    string `json:"hash"`
	Subject string `json:"subject"`
}

// Look makes the plan to land a result on a branch (empty: the current one) in a way
// (empty: by fast-forward alone). It changes neither the branch nor a file.
func (f Finder) Look(ctx context.Context, at *instance.Locator, in *instance.Instance, r Result, onto, way string) (*Plan, error) {
	repo, filters, err := instance.Repository(at, in).Guarded(ctx)
	if err != nil {
		return nil, err
	}
	p := &Plan{Artefact: r.Artefact.ID, Goal: r.Goal.ID, Commit: r.Commit, Commits: []Step{}, Files: []commit.File{}, short: r.Short(), repo: repo, in: in}
	if err := sameFormat(ctx, at, p); err != nil {
		return nil, err
	}
	both, err := withStore(ctx, repo, in)
	if err != nil {
		return nil, err
	}
	repo.Environ = append(slices.Clip(repo.Environ), both...)
	l := looker{Plan: p, at: at, onto: strings.TrimPrefix(onto, git.BranchRef("")), result: r, finder: f, both: repo, filters: filters}
	if err := l.target(ctx); err != nil {
		return nil, err
	}
	if p.From = p.repo.Tip(ctx, p.Branch); p.From == "" {
		err = git.Unborn(ctx, p.repo, git.BranchRef(p.Branch))
	} else {
		err = git.Lent(ctx, instance.Repository(at, in), p.From) // the store's own objects may be those that are lost
	}
	if err != nil {
		return nil, err
	}
	if err := l.choose(ctx, way); err != nil || p.How == Already {
		return p, err
	}
	if err := l.content(ctx); err != nil || p.Directory == "" {
		return p, err
	}
	if err := l.free(ctx); err != nil {
		return nil, err
	}
	p.unrun, err = l.both.Filtered(ctx, p.Directory, p.To, filters, paths(p.Files))
	if raw := p.raw(); len(raw) > 0 {
		p.git = l.command(l.Directory)
		p.Undo = p.checkout(raw) + " && " + p.Undo // git takes the files to be changed, and would refuse
	}
	return p, err
}

// withStore returns git's variables to find the objects of the instance's store in the repository.
func withStore(ctx context.Context, repo git.Repository, in *instance.Instance) ([]string, error) {
	_, objects, err := repo.Own(ctx)
	if err != nil {
		return nil, err
	}
	s := store.Open(in.StoreDir())
	ends, err := s.Ends(objects)
	return append(ends, store.Borrowed(s.Objects())), err
}

// looker makes a plan.
type looker struct {
	*Plan
	at     *instance.Locator
	onto   string // the branch that was named; empty: none
	result Result
	finder Finder
	both   git.Repository // the user's, with the objects of the store

	filters []string // that are not run
	picked  []string // commits that a rebase applied, as they were
}

// choose settles the way and makes the commit that the branch shall have.
func (l *looker) choose(ctx context.Context, way string) error {
	if l.To = l.Commit; l.From == "" {
		l.How = FastForward
		return nil
	}
	there, err := l.both.IsAncestor(ctx, l.Commit, l.From)
	if err != nil {
		return err
	}
	if there {
		l.How, l.To = Already, l.From
		return nil
	}
	ahead, err := l.both.IsAncestor(ctx, l.From, l.Commit)
	if err != nil {
		return err
	}
	commits, err := l.both.Commits(ctx, l.From, l.Commit)
	if err != nil {
		return err
	}
	if l.How = way; ahead && (way != Squash || len(commits) == 1) {
		l.How = FastForward
		return nil
	}
	id := l.result.Short()
	if base, err := l.both.MergeBase(ctx, l.From, l.Commit); err != nil {
		return err
	} else if base == "" {
		return l.unrelated(ctx)
	}
	if way == "" || way == FastForward {
		back, err := l.both.Commits(ctx, l.Commit, l.From)
		if err != nil {
			return err
		}
		return role.Fail(role.Failed, fmt.Errorf("%s cannot be fast-forwarded: it has %s that the commit of %s lacks", l.Branch, words.Count(len(back), "commit"), id),
			"%s --rebase, --merge or --squash", l.at.CommandLine(l.in, words.Land(id, l.onto)))
	}
	return l.make(ctx, commits)
}

// make makes the new commits. Nothing refers to them yet.
func (l *looker) make(ctx context.Context, commits []string) (err error) {
	if l.as, err = l.repo.Identity(ctx); err != nil {
		return err
	}
	own, _, err := l.repo.Own(ctx)
	if err != nil {
		return err
	}
	err = store.Making(own, func(environ []string) error {
		g := l.both
		g.Environ = append(slices.Clip(g.Environ), environ...)
		l.To, err = l.joined(ctx, g, commits)
		return err
	}, store.Open(l.in.StoreDir()).Objects())
	var conflict *git.Conflict
	if errors.As(err, &conflict) {
		lines := append([]string{fmt.Sprintf("%s of %s and %s: merge conflict; nothing was changed", l.How, words.Commit(conflict.Commit), l.Branch)}, few(conflict.Files)...)
		return role.Fail(role.Failed, errors.New(strings.Join(lines, "\n")), "%s --branch NAME, then git merge NAME, and settle it by hand",
			l.at.CommandLine(l.in, "checkout "+l.result.Short())) // the commit is in Sett's store alone
	}
	if err == nil && l.To == l.From {
		l.How = Already
	} else if err == nil && git.Signs(ctx, l.repo) {
		l.sign = l.signing()
	}
	return err
}

// signing is the command that signs the new commits. Sett runs no program that signs: it may ask on the terminal, and the
// repository's own configuration may name another one.
func (l *looker) signing() string {
	command := l.command(cmp.Or(l.Directory, l.in.Workspace))
	before := ""
	if l.Directory == "" {
		before = command + " switch " + role.ShellWord(l.Branch) + " && "
	}
	if l.How == Rebase {
		return before + command + " rebase --exec 'git commit --amend --no-edit -S' " + l.From
	}
	return before + command + " commit --amend --no-edit -S"
}

// joined makes the commit that has both sides.
func (l *looker) joined(ctx context.Context, g git.Repository, commits []string) (string, error) {
	switch l.How {
	case Merge:
		return g.Merge(ctx, l.From, l.Commit, l.message("Merge", ""))
	case Rebase:
		last, picked, err := g.Rebase(ctx, l.From, l.Commit)
		l.picked = picked
		return last, err
	}
	message, err := l.squashed(ctx, commits)
	if err != nil {
		return "", err
	}
	return g.Squash(ctx, l.From, l.Commit, message)
}

// message is that of a new commit: its subject is the result's summary, or the goal.
func (l *looker) message(verb, body string) string {
	subject := words.Quote(l.result.Artefact.Summary)
	switch {
	case subject != "":
	case l.result.Artefact.ProducedByAgent != "":
		subject = "the result of " + l.result.Artefact.ProducedByAgent
	default:
		subject = "the result " + l.result.Short()
	}
	subject = role.Clean(words.Shorten(strings.TrimSpace(verb+" "+subject), 72))
	text := subject + "\n\n" + body
	if l.Goal != "" {
		text += "Goal: " + l.Goal + "\n"
	}
	if l.Artefact != "" {
		text += "Artefact: " + l.Artefact + "\n"
	}
	return text
}

// squashed is the message of a squash: that of the one commit, else with all subjects. It
// is written as the user, so that it has no character that acts on a terminal.
func (l *looker) squashed(ctx context.Context, commits []string) (string, error) {
	body := ""
	for _, hash := range commits {
		c, err := l.commits().Commit(ctx, hash)
		if err != nil {
			return "", err
		}
		if len(commits) == 1 {
			return strings.TrimRight(role.Clean(c.Subject)+"\n\n"+role.CleanText(strings.ReplaceAll(c.Body, "\r\n", "\n")), "\n") + "\n", nil
		}
		body += "* " + role.Clean(c.Subject) + "\n"
	}
	return l.message("", body+"\n"), nil
}

// commits reads the repository's commits.
func (l *looker) commits() commit.Repository { return commit.Repository{Repository: l.both} }

// content reads the commits and the files that the branch gets.
func (l *looker) content(ctx context.Context) (err error) {
	since := l.From
	if head := l.repo.Head(ctx); since == "" && l.Directory == "" && head != "" { // a new branch: not all of its history is news
		if since, err = l.both.MergeBase(ctx, head, l.To); err != nil {
			return err
		}
	}
	commits, err := l.both.Subjects(ctx, since, l.To)
	if err != nil {
		return err
	}
	for _, c := range commits {
		l.Commits = append(l.Commits, Step{c[0], c[1]})
	}
	if err := l.older(ctx, since); err != nil {
		return err
	}
	from := since
	if from == "" {
		if from, err = l.both.EmptyTree(ctx); err != nil {
			return err
		}
	}
	if l.Files, err = l.commits().Files(ctx, from, l.To); err != nil {
		return err
	}
	l.Undo = l.undo()
	l.moved, err = git.MovedModules(ctx, l.both, from, l.To)
	l.Modules = l.moved.Modules
	return err
}

// undo is the command that takes the branch back. In a working tree it keeps changes
// that are not committed, and refuses where it cannot, but for those of files whose filter is not run.
func (l *looker) undo() string {
	command := l.command(cmp.Or(l.Directory, l.in.Workspace))
	switch {
	case l.Directory == "" && l.From == "":
		return fmt.Sprintf("%s update-ref -d %s %s", command, role.ShellWord(git.BranchRef(l.Branch)), l.To)
	case l.Directory == "":
		return fmt.Sprintf("%s update-ref %s %s %s", command, role.ShellWord(git.BranchRef(l.Branch)), l.From, l.To)
	case l.From == "":
		return fmt.Sprintf("%s rm -rq :/ && %s update-ref -d HEAD %s", command, command, l.To)
	}
	return command + " reset --keep " + l.From
}

// command is the beginning of a command for git in a directory.
func (l *looker) command(dir string) string {
	if here, _ := l.at.Directory(); here != dir {
		return "git -C " + role.ShellWord(dir)
	}
	return "git"
}

func paths(files []commit.File) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.Path)
	}
	return slices.Compact(out)
}

// Do lands as planned: the branch gets its commit once all objects of it are in the
// user's repository. A branch that has moved since, or a file that came into the way,
// is an error, and all is as before.
func (p *Plan) Do(ctx context.Context) error {
	if p.How == Already {
		return nil
	}
	own, _, err := p.repo.Own(ctx)
	if err != nil {
		return err
	}
	release, lacking, err := instance.Deliver(ctx, p.in, p.To, own)
	defer release()
	if err != nil {
		return err
	}
	over := func(bool) {}
	if p.Directory != "" {
		over = git.Mark(ctx, p.repo, p.Directory, git.Cut{Name: p.short, Artefact: p.Artefact, Branch: p.Branch, From: p.From, To: p.To})
	}
	err = p.repo.Advance(ctx, p.Branch, p.Directory, p.From, p.To, p.why())
	over(err != nil && p.locked(ctx))
	if p.Landed = err == nil; p.Landed {
		p.Lacking = lacking
		_ = git.Distrust(ctx, p.repo, p.Directory, p.raw()) // it has landed
	}
	return err
}

// locked says whether git left the index of the working tree locked: it was killed, and has put nothing back.
func (p *Plan) locked(ctx context.Context) bool {
	if p.Directory == "" {
		return false
	}
	lock, err := git.IndexLock(context.WithoutCancel(ctx), p.repo, p.Directory)
	return err == nil && lock != ""
}

package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/cli/status"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/store"
	"sett/roles/role/words"
)

// mostResults is how many of an instance's newest commits are looked for.
const mostResults = 1000

// results looks for the commits that artefacts name.
func (x *exam) results(ctx context.Context) []Finding {
	out := x.each(func(in *instance.Instance) []Finding {
		b := x.askBoard(ctx, in)
		if b != nil {
			defer b.Close()
			return x.resultsOf(ctx, b, in)
		}
		b, done, err := instance.OpenStopped(ctx, x.at, in)
		if err != nil {
			return x.unread(ctx, in, err)
		}
		defer done()
		return x.resultsOf(ctx, b, in)
	})
	if len(out) == 0 {
		return []Finding{skipped("no artefact that runs here names a commit")}
	}
	return out
}

// unread is the finding about a stopped blackboard that cannot be read. The instance's health says the rest.
func (x *exam) unread(ctx context.Context, in *instance.Instance, err error) []Finding {
	if errors.Is(err, role.ErrNotRunning) || ctx.Err() != nil || status.Inspect(ctx, x.at, in, false).State != status.Stopped {
		return nil
	}
	if schema := (*blackboard.SchemaError)(nil); errors.As(err, &schema) && schema.Older {
		return []Finding{warning(in.Name, schema.Remedy(), "%v", schema)}
	}
	return []Finding{wrong(in.Name, err)}
}

func (x *exam) resultsOf(ctx context.Context, b *instance.Board, in *instance.Instance) []Finding {
	all, err := committed(ctx, b)
	if err != nil || len(all) == 0 {
		return nil // which the instance's health says
	}
	held, older, err := holdings(ctx, in, all)
	if err == nil && len(older) > 0 {
		var missing []string
		if missing, err = instance.Store(ctx, x.at, in).Missing(ctx, hashes(older)); err == nil && len(missing) > 0 {
			return []Finding{lost(in, all, missing)}
		}
	}
	switch {
	case errors.Is(err, git.ErrMissing), errors.Is(err, store.ErrNoGit), ctx.Err() != nil:
		return nil // which has its own line
	case err != nil:
		return []Finding{wrong(in.Name, err)}
	case len(older) > 0:
		return []Finding{fine(in.Name, "the store holds %s that artefacts name; of an older sett %d are in the repository", words.Count(len(held), "commit"), len(older))}
	}
	return []Finding{fine(in.Name, "the store holds %s that artefacts name", words.Count(len(held), "commit"))}
}

// holdings tells the artefacts whose commits the store holds from the others. Held commits that
// are not whole are an error.
func holdings(ctx context.Context, in *instance.Instance, all []blackboard.Artefact) (held, older []blackboard.Artefact, err error) {
	s := store.Open(in.StoreDir())
	if !s.Exists() {
		return nil, all, nil
	}
	refs := make([]string, 0, 2*len(all))
	for _, a := range all {
		refs = append(refs, store.Artefact(a.ID))
	}
	for _, a := range all {
		refs = append(refs, store.Goal(a.WorkflowID))
	}
	commits, err := s.Commits(ctx, refs)
	if err != nil {
		return nil, nil, err
	}
	var found []string
	for i, a := range all {
		if commits[i] != "" && strings.HasPrefix(commits[i], strings.ToLower(a.CommitHash())) {
			held, found = append(held, a), append(found, commits[i])
		} else {
			older = append(older, a)
		}
	}
	if len(found) == 0 {
		return nil, older, nil
	}
	if err := s.Whole(ctx, found, commits[len(all):]...); err != nil {
		return nil, nil, role.Fail(role.Environment, fmt.Errorf("the store in %s lacks objects of the commits that it holds: %w", s.Dir, err),
			"git --git-dir=%s fsck shows which", role.ShellWord(s.Dir))
	}
	return held, older, nil
}

func hashes(all []blackboard.Artefact) []string {
	out := make([]string, len(all))
	for i, a := range all {
		out[i] = a.CommitHash()
	}
	return out
}

// lost is the finding about commits that are nowhere.
func lost(in *instance.Instance, all []blackboard.Artefact, missing []string) Finding {
	var names []string
	for _, a := range all {
		if a.CommitHash() == missing[0] {
			names = append(names, words.Short(a.ID))
		}
	}
	return problem(in.Name, "fetch it into the repository from where it may still be, another clone or a remote",
		"neither the instance's store nor the repository %s has %s of %d that artefacts name: %s of artefact %s",
		in.Workspace, words.Count(len(missing), "commit"), len(all), words.Shorten(missing[0], 12), strings.Join(names, ", "))
}

// committed returns the newest artefacts that name commits: CodeCommits, which have an
// index, and others as far as they are among the newest of all.
func committed(ctx context.Context, b *instance.Board) ([]blackboard.Artefact, error) {
	filter := blackboard.Filter{Limit: mostResults, Broken: func(error) {}}
	newest, err := b.Records.ListOutlines(ctx, filter)
	if err != nil {
		return nil, err
	}
	filter.Type = blackboard.TypeCodeCommit
	all, err := b.Records.ListArtefacts(ctx, filter)
	for i := range newest {
		if newest[i].Commit != "" && newest[i].Type != blackboard.TypeCodeCommit {
			all = append(all, newest[i].Artefact)
		}
	}
	return all, err
}

// longKept is the age at which leftovers of tools are probably forgotten.
const longKept = 30 * 24 * time.Hour

// keptOfTools names the leftovers of failed and stopped tools.
func (x *exam) keptOfTools(ctx context.Context) []Finding {
	var out []Finding
	for _, in := range x.instances {
		if !instance.Exists(in.Workspace) {
			continue
		}
		all, err := instance.Leftovers(ctx, x.at, in)
		if err != nil || len(all) == 0 {
			continue // the checks of git and of the repository say why not
		}
		age := x.at.Now().Sub(all[0].At)
		text := words.Count(len(all), "leftover") + " of tools that failed or were stopped, the oldest " + words.Age(age) + " old"
		command := x.at.CommandLine(in, "leftovers")
		if age > longKept {
			out = append(out, warning(in.Name, command+" lists them, "+command+" drop --older 30d forgets old ones", "%s", text))
			continue
		}
		out = append(out, fine(in.Name, "%s: %s", text, command))
	}
	return out
}

// mostTrees is how many trees a finding names.
const mostTrees = 5

// orphans names the private trees of agents that sett.yml has no more. Those that sett up
// leaves have changes that nobody kept.
func orphans(in *instance.Instance) []Finding {
	c, err := in.Config()
	entries, none := os.ReadDir(in.TreesDir())
	if err != nil || none != nil {
		return nil // none was started yet
	}
	var paths []string
	for _, e := range entries {
		ours := slices.ContainsFunc(c.Names(), func(agent string) bool { return e.Name() == agent || strings.HasPrefix(e.Name(), agent+".") })
		if e.IsDir() && !ours && e.Name()[0] != '.' {
			paths = append(paths, role.ShellWord(filepath.Join(in.TreesDir(), e.Name())))
		}
	}
	if len(paths) == 0 {
		return nil
	}
	named := strings.Join(paths[:min(len(paths), mostTrees)], " ")
	return []Finding{warning(in.Name, "take from them what you need, then rm -rf "+named, "%s of agents that sett.yml has no more", words.Count(len(paths), "private tree"))}
}

// stuck names what tools left in their trees and Sett cannot remove. It lies beside them.
func stuck(in *instance.Instance) []Finding {
	paths := store.StuckBelow(in.TreesDir())
	if len(paths) == 0 {
		return nil
	}
	named := paths[:min(len(paths), mostTrees)]
	return []Finding{warning(in.Name, store.Remedy(named...),
		"%s of trees cannot be removed, such as files of another user; they take disk beside the trees, which are new: %s",
		words.Count(len(paths), "remnant"), strings.Join(named, " "))}
}

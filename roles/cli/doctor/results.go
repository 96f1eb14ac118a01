package doctor

import (
	"context"
	"errors"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/role/git"
	"sett/roles/role/words"
)

// mostResults is how many of an instance's newest commits are looked for.
const mostResults = 1000

// results looks for the commits that artefacts name in their repositories.
func (x *exam) results(ctx context.Context) []Finding {
	out := x.each(func(in *instance.Instance) []Finding {
		b := x.askBoard(ctx, in)
		if b == nil {
			return nil // which the instance's health says
		}
		defer b.Close()
		return x.resultsOf(ctx, b, in)
	})
	if len(out) == 0 {
		return []Finding{skipped("no artefact that runs here names a commit")}
	}
	return out
}

func (x *exam) resultsOf(ctx context.Context, b *instance.Board, in *instance.Instance) []Finding {
	all, err := committed(ctx, b)
	if err != nil || len(all) == 0 {
		return nil // which the instance's health says
	}
	hashes := make([]string, len(all))
	for i, a := range all {
		hashes[i] = a.CommitHash()
	}
	missing, err := instance.Store(ctx, x.at, in).Missing(ctx, hashes)
	switch {
	case errors.Is(err, git.ErrMissing):
		return nil // which has its own line
	case err != nil:
		return []Finding{wrong(in.Name, err)}
	case len(missing) == 0:
		return []Finding{fine(in.Name, "the repository has %s that artefacts name", words.Count(len(all), "commit"))}
	}
	lost := make([]string, 0, len(missing))
	for _, a := range all {
		if a.CommitHash() == missing[0] {
			lost = append(lost, words.Short(a.ID))
		}
	}
	return []Finding{problem(in.Name, "fetch it from where it may still be, another clone or a remote", "the repository %s lacks %s of %d that artefacts name: %s of artefact %s",
		in.Workspace, words.Count(len(missing), "commit"), len(all), words.Shorten(missing[0], 12), strings.Join(lost, ", "))}
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

// keptOfTools names the leftovers of failed and stopped tools, once for each repository.
func (x *exam) keptOfTools(ctx context.Context) []Finding {
	var out []Finding
	seen := map[string]bool{}
	for _, in := range x.instances {
		if seen[in.Workspace] || !instance.Exists(in.Workspace) {
			continue
		}
		seen[in.Workspace] = true
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

package git

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// HeldRef is the ref that holds the commit of an instance's artefact.
func HeldRef(instance, artefact string) string { return heldRefs(instance) + artefact }

func heldRefs(instance string) string { return "refs/sett/artefacts/" + instance + "/" }

// LetGo removes the refs that hold the commits of an instance's artefacts, but for
// those of commits that are on no branch, tag or remote's branch: git would prune them.
// It returns how many it left.
func (g Repository) LetGo(ctx context.Context, instance string) (left int, err error) {
	out, err := g.Run(ctx, "for-each-ref", "--format=%(objectname) %(refname)", heldRefs(instance))
	if err != nil || out == "" {
		return 0, err
	}
	refs := map[string][]string{} // by commit
	var commits []string
	for line := range strings.Lines(out) {
		commit, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if refs[commit] == nil {
			commits = append(commits, commit)
		}
		refs[commit] = append(refs[commit], ref)
	}
	alone, err := g.Feed(ctx, lines(commits), "rev-list", "--stdin", "--not", "--branches", "--tags", "--remotes")
	if err != nil {
		return 0, err
	}
	for commit := range strings.Lines(alone) {
		commit = strings.TrimSuffix(commit, "\n")
		left += len(refs[commit])
		delete(refs, commit)
	}
	var removals []string
	for commit, names := range refs {
		for _, ref := range names {
			removals = append(removals, fmt.Sprintf("delete %s %s", ref, commit))
		}
	}
	_, err = g.Feed(ctx, lines(removals), "update-ref", "--stdin")
	return left, err
}

// Missing returns those of the hashes that are no commit of the repository.
func (g Repository) Missing(ctx context.Context, hashes []string) ([]string, error) {
	out, err := g.Feed(ctx, lines(hashes), "cat-file", "--batch-check=%(objecttype)")
	if err != nil {
		return nil, err
	}
	var missing []string
	for i, kind := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		if i < len(hashes) && kind != "commit" {
			missing = append(missing, hashes[i])
		}
	}
	return missing, nil
}

// Unreached returns those of the commits that no ref of the repository reaches: git removes their objects in
// time, if it has them.
func Unreached(ctx context.Context, g Repository, hashes []string) ([]string, error) {
	lost, err := g.Missing(ctx, hashes)
	if err != nil {
		return nil, err
	}
	there := slices.DeleteFunc(slices.Clone(hashes), func(hash string) bool { return slices.Contains(lost, hash) })
	if len(there) == 0 {
		return lost, nil
	}
	out, err := g.Feed(ctx, lines(there), "rev-list", "--stdin", "--not", "--all")
	if err != nil {
		return nil, err
	}
	alone := map[string]bool{}
	for commit := range strings.Lines(out) {
		alone[strings.TrimSuffix(commit, "\n")] = true
	}
	for _, hash := range there {
		if alone[hash] {
			lost = append(lost, hash)
		}
	}
	return lost, nil
}

func lines(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return strings.Join(all, "\n") + "\n"
}

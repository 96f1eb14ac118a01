package instance

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/lfs"
	"sett/roles/role/store"
	"sett/roles/role/words"
)

// PointerLines says which paths of a commit agents see without their content, a line for each kind.
func PointerLines(p git.Pointers) (lines []string) {
	if n := len(p.Submodules); n > 0 {
		lines = append(lines, "agents see "+words.Count(n, "submodule as an empty directory", "submodules as empty directories")+": "+someOf(p.Submodules))
	}
	if n := len(p.LFS); n > 0 {
		lines = append(lines, "agents see "+words.Count(n, "file of git LFS as its pointer", "files of git LFS as their pointers")+", without the content: "+someOf(p.LFS))
	}
	return lines
}

// atHand returns the content of a commit's pointers, as far as the user's repository has it.
func atHand(ctx context.Context, g git.Repository, commit string, p git.Pointers) ([]git.Module, lfs.Objects, map[string]lfs.Pointer) {
	modules := git.Modules(ctx, g, commit, p)
	if len(p.LFS) == 0 {
		return modules, "", nil
	}
	_, objects, err := g.Own(ctx)
	if err != nil {
		return modules, "", nil
	}
	from := store.Content(objects)
	return modules, from, p.Content(from)
}

// WithoutThose returns the pointers of a commit without those of content that the user's repository has.
func WithoutThose(ctx context.Context, g git.Repository, commit string, p git.Pointers) git.Pointers {
	modules, _, content := atHand(ctx, g, commit, p)
	return p.Without(modules, content)
}

// SomeFiles counts files and names the first.
func SomeFiles(paths []string) string {
	return words.Count(len(paths), "file") + " (" + someOf(paths) + ")"
}

// mostPaths is how many paths a line names.
const mostPaths = 5

func someOf(paths []string) string {
	var names []string
	for _, p := range paths[:min(len(paths), mostPaths)] {
		names = append(names, role.Clean(p))
	}
	if more := len(paths) - mostPaths; more > 0 {
		names = append(names, words.Count(more, "more", "more"))
	}
	return strings.Join(names, ", ")
}

// toldFile holds the last lines about pointers that the user was told, after the commit that was looked at.
func toldFile(in *Instance) string { return filepath.Join(in.StoreDir(), "info", "sett-pointers") }

// UntoldPointers returns lines about paths of a commit that agents see without their content, where
// the user was told others or none. Remember is called once they are told; it brings the commits of submodules and
// the content of git LFS that are at hand into the store, which is there by then.
func UntoldPointers(ctx context.Context, g git.Repository, in *Instance, commit string) (lines []string, remember func() error, err error) {
	remember = func() error { return nil }
	told, _ := os.ReadFile(toldFile(in))
	before, said, _ := strings.Cut(string(told), "\n")
	if before == commit && said == "" {
		return nil, remember, nil
	}
	p, err := git.FindPointers(ctx, g, commit)
	if err != nil {
		return nil, remember, err
	}
	modules, from, content := atHand(ctx, g, commit, p)
	lines = PointerLines(p.Without(modules, content))
	now := strings.Join(lines, "\n")
	remember = func() error {
		for _, m := range modules {
			if err := store.FetchModule(ctx, store.Open(in.StoreDir()), m.Objects, m.Commit); err != nil {
				return err
			}
		}
		if p.HasLFS {
			if err := store.FetchContent(ctx, store.Open(in.StoreDir()), from, slices.Collect(maps.Values(content))); err != nil {
				return err
			}
		}
		return store.WriteWhole(toldFile(in), commit+"\n"+now)
	}
	if now == said {
		lines = nil
	}
	return lines, remember, nil
}

// TellPointers warns of paths of a commit that agents see without their content, once.
func TellPointers(ctx context.Context, l *Locator, in *Instance, commit string) {
	lines, remember, err := UntoldPointers(ctx, Repository(l, in), in, commit)
	for _, line := range lines {
		l.Sayf("sett: warning: %s\n", line)
	}
	if err != nil {
		return
	}
	if err := remember(); err != nil && ctx.Err() == nil { // they are told again
		l.Sayf("sett: warning: %s\n", words.FirstLine(err))
	}
}

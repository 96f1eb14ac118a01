package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkGrant prepares a warm tree and takes one commit out of it; BenchmarkBareGit
// runs the git commands that nobody could do without.
func BenchmarkGrant(b *testing.B) {
	for _, files := range []int{100, 10_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			s, base := crowded(b, files)
			tree := s.Tree(filepath.Join(b.TempDir(), "trees"), "writer", Seen{})
			if err := tree.Prepare(b.Context(), Plan{Commit: base, Branch: "main"}); err != nil {
				b.Fatal(err)
			}
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				made := commitOne(b, tree.Dir(), i)
				b.StartTimer()
				if _, err := s.Take(b.Context(), tree.Offer(made, []string{base}), Artefact(fmt.Sprint(i))); err != nil {
					b.Fatal(err)
				}
				if err := tree.Prepare(b.Context(), Plan{Commit: base, Branch: "main"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBareGit(b *testing.B) {
	for _, files := range []int{100, 10_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			s, base := crowded(b, files)
			dir := filepath.Join(b.TempDir(), "clone")
			must(b, "", "git", "clone", "-q", "--shared", "--no-checkout", s.Dir, dir)
			must(b, dir, "git", "reset", "-q", "--hard", base)
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				made := commitOne(b, dir, i)
				b.StartTimer()
				must(b, dir, "git", "push", "-q", s.Dir, made+":"+Artefact(fmt.Sprint(i)))
				must(b, dir, "git", "reset", "-q", "--hard", base)
				must(b, dir, "git", "clean", "-ffdxq")
			}
		})
	}
}

// crowded is a store with a commit of many files.
func crowded(b *testing.B, files int) (s *Store, commit string) {
	dir := filepath.Join(b.TempDir(), "person")
	must(b, "", "git", "init", "-q", "-b", "main", dir)
	must(b, dir, "git", "config", "gc.auto", "0")
	for i := range files {
		path := filepath.Join(dir, fmt.Sprintf("d%d", i%100), fmt.Sprintf("file%d", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "text of file %d\n", i), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	must(b, dir, "git", "add", "-A")
	must(b, dir, "git", "commit", "-q", "-m", "all")
	must(b, dir, "git", "gc", "-q")
	s, err := Create(b.Context(), filepath.Join(b.TempDir(), "store"), "sha1", []string{filepath.Join(dir, ".git", "objects")})
	if err != nil {
		b.Fatal(err)
	}
	commit = must(b, dir, "git", "rev-parse", "HEAD")
	if err := s.Hold(b.Context(), Goal("g"), commit); err != nil {
		b.Fatal(err)
	}
	return s, commit
}

func commitOne(b *testing.B, dir string, i int) string {
	if err := os.WriteFile(filepath.Join(dir, "new"), fmt.Appendf(nil, "%d of %s\n", i, b.Name()), 0o644); err != nil {
		b.Fatal(err)
	}
	must(b, dir, "git", "add", "new")
	must(b, dir, "git", "commit", "-q", "-m", "one")
	return must(b, dir, "git", "rev-parse", "HEAD")
}

func must(b *testing.B, dir, name string, args ...string) string {
	b.Helper()
	out, err := try(dir, name, args...)
	if err != nil {
		b.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return out
}

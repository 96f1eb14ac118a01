package store

import (
	"fmt"
	"path/filepath"
	"testing"
)

// field is a repository with a branch that moves on with every landing, and a clone in which results are made.
func field(b *testing.B, files int) (l Lander, clone, base string) {
	b.Helper()
	s, base := crowded(b, files)
	user := filepath.Join(b.TempDir(), "user")
	must(b, "", "git", "clone", "-q", "--bare", s.Dir, user)
	must(b, user, "git", "fetch", "-q", s.Dir, Goal("g")+":refs/heads/released")
	clone = filepath.Join(b.TempDir(), "clone")
	must(b, "", "git", "clone", "-q", "--shared", "--no-checkout", s.Dir, clone)
	must(b, clone, "git", "reset", "-q", "--hard", base)
	return Lander{s, OpenUser(user)}, clone, base
}

// BenchmarkLanding rebases a result of one file onto a branch that has moved on, and moves the
// branch; BenchmarkBareLanding runs the git commands that nobody could do without.
func BenchmarkLanding(b *testing.B) {
	for _, files := range []int{100, 10_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			l, clone, base := field(b, files)
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				made := aside(b, clone, base, i)
				must(b, clone, "git", "push", "-q", l.Store.Dir, made+":"+Artefact(fmt.Sprint(i)))
				b.StartTimer()
				p, err := l.Plan(b.Context(), Landing{Name: fmt.Sprint(i), Commit: made, Branch: "released", How: Rebase})
				if err != nil || p.To == "" {
					b.Fatalf("%+v %v", p, err)
				}
				if m, err := l.Land(b.Context(), "released", p.Tip, p.To); err != nil || !m.Done {
					b.Fatalf("%+v %v", m, err)
				}
			}
		})
	}
}

func BenchmarkBareLanding(b *testing.B) {
	for _, files := range []int{100, 10_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			l, clone, base := field(b, files)
			tip := base
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				made := aside(b, clone, base, i)
				must(b, clone, "git", "push", "-q", l.Store.Dir, made+":"+Artefact(fmt.Sprint(i)))
				b.StartTimer()
				dir := l.Store.Dir
				must(b, dir, "git", "fetch", "-q", l.User.store.Dir, "+refs/heads/released:refs/sett/tip")
				tree := must(b, dir, "git", "merge-tree", "--write-tree", tip, made)
				tip = must(b, dir, "git", "commit-tree", "-p", tip, "-m", "landed", tree)
				must(b, dir, "git", "push", "-q", l.User.store.Dir, tip+":refs/heads/released")
			}
		})
	}
}

// aside is a commit on the base with a file of its own.
func aside(b *testing.B, clone, base string, i int) string {
	must(b, clone, "git", "reset", "-q", "--hard", base)
	write(b, filepath.Join(clone, fmt.Sprintf("own%d", i)), fmt.Sprint(i))
	must(b, clone, "git", "add", "-A")
	must(b, clone, "git", "commit", "-q", "-m", "one")
	return must(b, clone, "git", "rev-parse", "HEAD")
}

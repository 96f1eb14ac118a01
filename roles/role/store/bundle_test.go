package store

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

const (
	oneGoal     = "01ARZ3NDEKTSV4RRFFQ69G5FAA"
	oneArtefact = "01ARZ3NDEKTSV4RRFFQ69G5FBB"
	oneLeftover = "refs/sett/leftovers/01ARZ3NDEKTSV4RRFFQ69G5FCC/writer-1"
)

// A bundle brings commits, with their refs and their history, into another store.
func TestBundle(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		p := newPerson(t, "--object-format="+format)
		first := p.commit("a", "1")
		second := p.commit("a", "2", "b", "b")
		left := p.commit("a", "3")
		from, to := p.store(), emptyStore(t, "sha1")
		for ref, commit := range map[string]string{Goal(oneGoal): first, Artefact(oneArtefact): second, oneLeftover: left} {
			if err := from.Hold(t.Context(), ref, commit); err != nil {
				t.Fatal(err)
			}
		}
		var b bytes.Buffer
		if err := Bundle(t.Context(), from, &b, []string{Goal(oneGoal), Artefact(oneArtefact), oneLeftover}); err != nil {
			t.Fatal(err)
		}
		whole := b.Bytes()
		for name, bad := range map[string][]byte{
			"empty": {}, "other": []byte("hello\n"), "cut": whole[:len(whole)-30], "header": []byte("# v2 git bundle\n"),
			"refs": bytes.Replace(whole, []byte("refs/sett/goals/"), []byte("refs/heads/goals"), 1), "none": []byte("# v2 git bundle\n\nPACK"),
			"leftover": bytes.Replace(whole, []byte(oneLeftover), []byte(strings.Replace(oneLeftover, "writer-1", "../../-1", 1)), 1),
			"long":     []byte("# v2 git bundle\n" + strings.Repeat("x", 1<<16)),
		} {
			if n, err := Unbundle(t.Context(), emptyStore(t, "sha1"), bytes.NewReader(bad)); err == nil || n != nil {
				t.Errorf("%s: refs %q, %v", name, n, err)
			}
		}
		for range 2 { // the second time all is there
			if n, err := Unbundle(t.Context(), to, bytes.NewReader(whole)); len(n) != 3 || err != nil {
				t.Fatalf("refs %q, %v", n, err)
			}
		}
		got, err := to.Commits(t.Context(), []string{Goal(oneGoal), Artefact(oneArtefact), oneLeftover})
		if err != nil || got[0] != first || got[1] != second || got[2] != left {
			t.Errorf("%s: %q %v", format, got, err)
		}
		run(t, "", "git", "--git-dir="+to.Dir, "gc", "-q", "--prune=now")
		run(t, "", "git", "--git-dir="+to.Dir, "fsck", "--strict", "--full")
		if err := to.Hold(t.Context(), Goal(oneGoal), second); err != nil {
			t.Fatal(err)
		}
		if _, err := Unbundle(t.Context(), to, bytes.NewReader(whole)); !errors.Is(err, ErrBundle) {
			t.Errorf("another commit of the same ref: %v", err)
		}
	}
}

// A bundle whose history is not in it is refused, and leaves no ref.
func TestUnbundleOfAPart(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.commit("a", "1")
	p.git("update-ref", Goal(oneGoal), p.commit("a", "2"))
	p.git("bundle", "create", "-q", "../part", "^HEAD~1", Goal(oneGoal))
	to := emptyStore(t, "sha1")
	text := run(t, p.dir, "cat", "../part")
	if _, err := Unbundle(t.Context(), to, strings.NewReader(text)); !errors.Is(err, ErrBundle) {
		t.Errorf("with a prerequisite: %v", err)
	}
	if got, err := to.Commit(t.Context(), Goal(oneGoal)); got != "" || err != nil {
		t.Errorf("its ref holds %q, %v", got, err)
	}
}

package store

import (
	"bytes"
	"errors"
	"slices"
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
			if n, _, err := Unbundle(t.Context(), emptyStore(t, "sha1"), bytes.NewReader(bad)); err == nil || n != nil {
				t.Errorf("%s: refs %q, %v", name, n, err)
			}
		}
		for range 2 { // the second time all is there
			if n, skipped, err := Unbundle(t.Context(), to, bytes.NewReader(whole)); len(n) != 3 || skipped != nil || err != nil {
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
		if _, _, err := Unbundle(t.Context(), to, bytes.NewReader(whole)); !errors.Is(err, ErrBundle) {
			t.Errorf("another commit of the same ref: %v", err)
		}
	}
}

// A bundle of a newer sett may have refs of Sett's own that this one does not know. It skips them and brings the others; refs
// outside refs/sett/ are refused, whatever else the bundle has.
func TestUnbundleOfANewerSett(t *testing.T) {
	t.Parallel()
	const newer, named = "refs/sett/wonders/01ARZ3NDEKTSV4RRFFQ69G5FDD/v1.2", "refs/sett/leftovers/01ARZ3NDEKTSV4RRFFQ69G5FCC/writer.2-1"
	p := newPerson(t)
	goal, other := p.commit("a", "1"), p.commit("a", "2")
	for ref, commit := range map[string]string{Goal(oneGoal): goal, newer: other, named: other} {
		p.git("update-ref", ref, commit)
	}
	bundle := func(refs ...string) []byte {
		p.git(append([]string{"bundle", "create", "-q", "../newer"}, refs...)...)
		return []byte(run(t, p.dir, "cat", "../newer"))
	}
	to := emptyStore(t, "sha1")
	for range 2 { // the second time all is there
		refs, skipped, err := Unbundle(t.Context(), to, bytes.NewReader(bundle(Goal(oneGoal), newer, named)))
		if err != nil || !slices.Equal(refs, []string{Goal(oneGoal)}) || len(skipped) != 2 || !slices.Contains(skipped, newer) {
			t.Fatalf("%q, skipped %q, %v", refs, skipped, err)
		}
	}
	if got, err := to.Commits(t.Context(), []string{Goal(oneGoal), newer, named}); err != nil || got[0] != goal || got[1]+got[2] != "" {
		t.Errorf("the store holds %q, %v", got, err)
	}
	if refs, skipped, err := Unbundle(t.Context(), to, bytes.NewReader(bundle(newer))); err != nil || refs != nil || len(skipped) != 1 {
		t.Errorf("with none that is known: %q, skipped %q, %v", refs, skipped, err)
	}
	whole := bundle(Goal(oneGoal), newer)
	for _, bad := range []string{"refs/heads/wonders/", "refs/settle/wonder/", "refs/sett/../heads/wo", "refs/sett/wonders/.", "refs/sett/wonders/ ", "refs/sett//wonders"} {
		if _, _, err := Unbundle(t.Context(), to, bytes.NewReader(bytes.Replace(whole, []byte("refs/sett/wonders/"), []byte(bad), 1))); !errors.Is(err, ErrBundle) {
			t.Errorf("%s: %v", bad, err)
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
	if _, _, err := Unbundle(t.Context(), to, strings.NewReader(text)); !errors.Is(err, ErrBundle) {
		t.Errorf("with a prerequisite: %v", err)
	}
	if got, err := to.Commit(t.Context(), Goal(oneGoal)); got != "" || err != nil {
		t.Errorf("its ref holds %q, %v", got, err)
	}
}

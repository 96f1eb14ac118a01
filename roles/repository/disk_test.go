package repository

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	line "sett/roles/role/repository"
)

// troubled has the role run a git that, while the file trouble is there, ends the command in its first line so: it does
// that file's shell commands.
func (p *place) troubled() (trouble string) {
	p.t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		p.t.Fatal(err)
	}
	p.path, trouble = p.t.TempDir(), filepath.Join(p.dir, "trouble")
	wrapper := fmt.Sprintf("#!/bin/sh\nif [ -e '%[1]s' ]; then read -r command <'%[1]s'; case \" $* \" in *\" ${command#\\#} \"*) . '%[1]s';; esac; fi\nexec %[2]s \"$@\"\n", trouble, git)
	if err := os.WriteFile(filepath.Join(p.path, "git"), []byte(wrapper), 0o755); err != nil {
		p.t.Fatal(err)
	}
	return trouble
}

// TestTroubleOfTheMachine: a commit that the machine hinders is not the tool's fault, and succeeds once the machine works.
func TestTroubleOfTheMachine(t *testing.T) {
	p := newPlace(t)
	trouble := p.troubled()
	p.start()
	ctx := t.Context()
	away := filepath.Join(p.storeDir(), "away")
	for name, c := range map[string]struct{ command, does string }{
		"index":        {"index-pack", `echo "fatal: sha1 file 'objects/pack/tmp_idx_x' write error. Out of diskspace" >&2; exit 128`},
		"quota":        {"add", `echo 'error: object file x: Quota exceeded' >&2; echo 'fatal: adding files failed' >&2; exit 128`},
		"read error":   {"add", `echo 'error: short read: Input/output error' >&2; echo 'fatal: adding files failed' >&2; exit 128`},
		"read only":    {"write-tree", `echo 'fatal: git-write-tree: error building trees: Read-only file system' >&2; exit 128`},
		"ref":          {"update-ref", `echo "fatal: update_ref failed for ref 'x': reference broken" >&2; exit 128`},
		"says no word": {"add", `echo 'fatal: adding files failed' >&2; mv '` + filepath.Join(p.storeDir(), "objects") + `' '` + away + `'; exit 128`}, // the store takes no files
	} {
		for _, way := range []string{"commit", "take", "keep"} {
			if way == "take" && c.command != "index-pack" && c.command != "update-ref" {
				continue
			}
			grant := first(fmt.Sprintf("%.2s-%s-%s", name, c.command, way))
			if _, err := p.client.Prepare(ctx, line.Prepare{Grant: grant, Goal: "goal"}); err != nil {
				t.Fatal(err)
			}
			sh(t, p.tree("writer"), "echo "+grant.Claim+" >d/file")
			var ask func() (line.Held, error)
			switch way {
			case "commit":
				ask = func() (line.Held, error) {
					return p.client.Commit(ctx, line.Commit{Grant: grant, Artefact: grant.Claim, Message: "m"})
				}
			case "take":
				hash := sh(t, p.tree("writer"), "git commit -qam own; git rev-parse HEAD")
				ask = func() (line.Held, error) {
					return p.client.Take(ctx, line.Take{Grant: grant, Artefact: grant.Claim, Hash: hash})
				}
			case "keep":
				if c.command == "index-pack" {
					sh(t, p.tree("writer"), "git commit -qam own")
				}
				ask = func() (line.Held, error) { return p.client.Keep(ctx, line.Keep{Grant: grant, Message: "m"}) }
			}
			must(t, os.WriteFile(trouble, []byte("#"+c.command+"\n"+c.does+"\n"), 0o600))
			if held, err := ask(); err == nil || line.Answered(err) {
				t.Errorf("%s, %s: %+v %v", name, way, held, err)
			}
			must(t, os.Remove(trouble))
			if err := os.Rename(away, filepath.Join(p.storeDir(), "objects")); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			held, err := ask()
			if err != nil || sh(t, p.storeDir(), "git show "+held.Commit+":d/file") != grant.Claim {
				t.Errorf("%s, %s, afterwards: %+v %v", name, way, held, err)
			}
		}
	}
}

// TestKeptWithoutRoom: git that leaves out a file which the store does not take has not kept the tool's changes.
func TestKeptWithoutRoom(t *testing.T) {
	p := newPlace(t)
	trouble := p.troubled()
	p.start()
	ctx := t.Context()
	for claim, said := range map[string]string{"full": "error: unable to write loose object file: No space left on device", "lost": "error: unable to index file 'new'"} {
		if _, err := p.client.Prepare(ctx, line.Prepare{Grant: first(claim), Goal: "goal"}); err != nil {
			t.Fatal(err)
		}
		sh(t, p.tree("writer"), "echo two >new")
		script := "#--ignore-errors\necho \"" + said + "\" >&2; "
		if claim == "lost" {
			script += "mv '" + filepath.Join(p.storeDir(), "objects") + "' '" + filepath.Join(p.storeDir(), "away") + "'; "
		}
		must(t, os.WriteFile(trouble, []byte(script+"exit 1\n"), 0o600))
		if held, err := p.client.Keep(ctx, line.Keep{Grant: first(claim), Message: "m"}); err == nil || line.Answered(err) {
			t.Errorf("%s: %+v %v", claim, held, err)
		}
		must(t, os.Remove(trouble))
		if claim == "lost" {
			must(t, os.Rename(filepath.Join(p.storeDir(), "away"), filepath.Join(p.storeDir(), "objects")))
		}
		held, err := p.client.Keep(ctx, line.Keep{Grant: first(claim), Message: "m"})
		if err != nil || sh(t, p.storeDir(), "git show "+held.Commit+":new") != "two" {
			t.Errorf("%s: afterwards: %+v %v", claim, held, err)
		}
	}
}

// TestHeldElsewhere: a commit of which nobody can say whether the store holds it is not the tool's fault.
func TestHeldElsewhere(t *testing.T) {
	p := newPlace(t)
	trouble := p.troubled()
	p.start()
	ctx, hash := t.Context(), ""
	for _, claim := range []string{"one", "two"} {
		if _, err := p.client.Prepare(ctx, line.Prepare{Grant: first(claim), Goal: "goal"}); err != nil {
			t.Fatal(err)
		}
		if claim == "one" {
			hash = sh(t, p.tree("writer"), "git commit-tree -m alone HEAD^{tree}")
			if _, err := p.client.Take(ctx, line.Take{Grant: first(claim), Artefact: claim, Hash: hash, Rebased: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask := func() (line.Held, error) {
		return p.client.Take(ctx, line.Take{Grant: first("two"), Artefact: "two", Hash: hash})
	}
	must(t, os.WriteFile(trouble, []byte("#for-each-ref\necho 'fatal: short read: Input/output error' >&2; exit 128\n"), 0o600))
	if held, err := ask(); err == nil || line.Answered(err) {
		t.Errorf("%+v %v", held, err)
	}
	must(t, os.Remove(trouble))
	if held, err := ask(); err != nil || held.Commit != hash {
		t.Errorf("afterwards: %+v %v", held, err)
	}
}

// TestSmallDisk: wherever a disk becomes full, a commit waits for room, and is whole once there is some.
func TestSmallDisk(t *testing.T) {
	p := newPlace(t)
	small := exec.Command("sh", "-ec", `mv store whole; mkdir store; mount -t tmpfs -o size=4m none store || { rmdir store; mv whole store; exit 1; }; cp -a whole/. store/`)
	small.Dir = p.dir
	if err := small.Run(); err != nil {
		t.Logf("nobody can mount a small disk here; TestTroubleOfTheMachine has git's words: %v", err)
		return
	}
	t.Cleanup(func() {
		p.kill()
		_ = exec.Command("umount", p.storeDir()).Run()
	})
	p.start()
	ctx, refused := t.Context(), 0
	for free := 0; free <= 720; free += 60 {
		for _, own := range []bool{false, true} {
			grant := first(fmt.Sprintf("c-%d-%v", free, own))
			if _, err := p.client.Prepare(ctx, line.Prepare{Grant: grant, Goal: "goal"}); err != nil {
				t.Fatal(err)
			}
			sh(t, p.tree("writer"), "head -c 150000 /dev/urandom >a; head -c 100000 /dev/urandom >b; for i in 1 2 3 4 5; do mkdir d$i; echo $i >d$i/f; done")
			ask := func() (line.Held, error) {
				return p.client.Commit(ctx, line.Commit{Grant: grant, Artefact: grant.Claim, Message: "m"})
			}
			if own {
				hash := sh(t, p.tree("writer"), "git add -A; git commit -qm own; git rev-parse HEAD")
				ask = func() (line.Held, error) {
					return p.client.Take(ctx, line.Take{Grant: grant, Artefact: grant.Claim, Hash: hash})
				}
			}
			sh(t, p.storeDir(), fmt.Sprintf("head -c $(( ($(df -kP . | awk 'END {print $4}') - %d) * 1024 )) /dev/zero >fill", free))
			if _, err := ask(); line.Answered(err) {
				t.Errorf("%d KiB, own %v: %v", free, own, err)
			} else if err != nil {
				refused++
			}
			must(t, os.Remove(filepath.Join(p.storeDir(), "fill")))
			held, err := ask()
			if err != nil || sh(t, p.storeDir(), "git ls-tree -r --name-only "+held.Commit+" | wc -l; git rev-list --objects "+held.Commit+" >/dev/null") != "8" {
				t.Errorf("%d KiB, own %v: with room again: %+v %v", free, own, held, err)
			}
			sh(t, p.storeDir(), "git update-ref -d "+held.Ref+"; rm -f objects/pack/*")
		}
	}
	if refused < 5 {
		t.Errorf("the disk was full %d times", refused)
	}
}

// The log has each cause of a repeated request once.
func TestRefusedOnce(t *testing.T) {
	var r refused
	for i, c := range []struct {
		err  string
		kind error
		news bool
	}{
		{"write taking-12/ab34: no space left", nil, true},
		{"write taking-99/cdef: no space left", nil, false},
		{"read-only file system", nil, true},
		{"", nil, false},
		{"read-only file system", nil, true},
		{"too large", line.ErrTool, true},
		{"too large", line.ErrTool, true},
		{"read-only file system", nil, true},
	} {
		var err error
		switch {
		case c.kind != nil:
			err = fmt.Errorf("%w: %s", c.kind, c.err)
		case c.err != "":
			err = errors.New(c.err)
		}
		if r.say("writer commit", err) != c.news {
			t.Errorf("%d: %v is news: %v", i, err, !c.news)
		}
	}
	if !r.say("other commit", errors.New("read-only file system")) {
		t.Error("another request's trouble is no news")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

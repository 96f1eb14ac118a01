package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/roles/cli/blame"
	"sett/roles/role"
	"sett/roles/role/store"
)

// brought is achieved, with the refs that the repository's role holds.
func (s *stage) brought(base, commit string) (goal, terminal string) {
	s.t.Helper()
	goal, terminal = s.achieved(base, commit)
	s.Must(s.store().Hold(s.t.Context(), store.Artefact(terminal), commit))
	s.Must(s.store().LetGo(s.t.Context(), store.Artefact(commit)))
	s.Must(s.store().Fetch(s.t.Context(), s.objects(), base, store.Goal(goal)))
	return goal, terminal
}

// blames reads who wrote lines, as programs see it.
func (s *stage) blames(what ...string) blame.Blame {
	s.t.Helper()
	out, _, err := s.run(append([]string{"blame", "-o", "json"}, what...)...)
	s.Must(err)
	var b blame.Blame
	s.Must(json.Unmarshal([]byte(out), &b))
	return b
}

// writers are the lines as "who, known by".
func writers(b blame.Blame) string {
	var all []string
	for _, l := range b.Lines {
		o := b.Of(l)
		all = append(all, strings.TrimSpace(o.Who()+" "+o.By+" "+o.Known))
	}
	return strings.Join(all, "; ")
}

// Each line has its writer: a person, an agent by its commit or one before it, by the message
// of a merge or squash, by the same change after a rebase; and what is not committed yet.
func TestBlame(t *testing.T) {
	s := landStage(t)
	canary := filepath.Join(s.home, "ran")
	base := s.commitFile("song", "one\ntwo\nthree\nfour\nfive\n")
	first := s.aside("song", "ONE\ntwo\nthree\nfour\nfive\n", "song", "ONE\nTWO\nthree\nfour\nfive\n")
	goal, terminal := s.brought(base, first)
	s.land(terminal)
	s.write("song", "ONE\nTWO\nmine\nfour\nfive\n")
	s.write(".gitattributes", "song diff=evil filter=evil\n")
	s.git("config", "diff.evil.textconv", "touch "+canary+"; cat")
	s.git("config", "filter.evil.clean", "touch "+canary+"; cat")
	if got, want := writers(s.blames("song")), "writer agent history; writer agent commit; you uncommitted; t person; t person"; got != want {
		t.Errorf("song: %s\nwant %s", got, want)
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("a program of the repository's configuration ran")
	}
	for _, name := range []string{"diff.evil.textconv", "filter.evil.clean"} {
		s.git("config", "--unset", name)
	}
	s.Must(os.Remove(filepath.Join(s.root, ".gitattributes")))
	one := s.blames("song:2")
	if o := one.Of(one.Lines[0]); len(one.Lines) != 1 || one.Lines[0].Number != 2 || one.Lines[0].Text != "TWO" || o.Artefact == nil || o.Artefact.ID != terminal || o.Artefact.WorkflowID != goal || o.Goal != "change it" {
		t.Errorf("song:2: %+v, %+v", one, one.Origins[0])
	}
	for _, args := range [][]string{nil, {"--no-patches"}} { // a report names the commit in any case
		out, _, err := s.run(append([]string{"report", goal, "-o", "json"}, args...)...)
		s.Must(err)
		if has(t, out, `"hash": "`+first+`"`); strings.Contains(out, `"patch": "diff --git`) != (args == nil) {
			t.Errorf("report %q:\n%s", args, out)
		}
	}
	out, _, err := s.run("blame", "song")
	s.Must(err)
	mask := s.masking()
	golden(t, "golden/blame.txt", mask(out))
	for _, form := range []string{"json", "jsonl"} {
		printed, _, err := s.run("blame", "song", "-o", form)
		s.Must(err)
		golden(t, "golden/blame."+form, mask(printed))
	}
	has(t, out, "LINES", "1", "writer  CodeCommit "+blackboard.ShortID(terminal), "3", "not committed yet", "4-5", "by a person: write song")
	s.git("checkout", "-q", "--", "song")

	p := s.opened("--no-open")
	for at, want := range map[string]string{first: "writer agent history; writer agent commit; t person; t person; t person", base[:12]: "t person; t person; t person; t person; t person"} {
		if got := writers(s.blames("song", "--at", at)); got != want {
			t.Errorf("song at %s: %s\nwant %s", at, got, want)
		}
		line, _, err := s.run("blame", "song:2", "--at", at, "-o", "json")
		s.Must(err)
		if status, body := p.whole(http.MethodGet, "blame?file=song&lines=2&at="+at, ""); status != http.StatusOK || body != line {
			t.Errorf("the API says %d %s\nwant %s", status, body, line)
		}
	}
	s.refuses(role.Usage, "is no commit's hash", "blame", "song", "--at", "main")
	s.refuses(role.NotFound, "is neither in", "blame", "song", "--at", strings.Repeat("0123", 10))
	s.refuses(role.NotFound, "song", "blame", "../song", "--at", base)
	for path, want := range map[string]int{"blame?file=song": http.StatusBadRequest, "blame?at=" + base: http.StatusBadRequest, "blame?file=/etc/passwd&at=" + base: http.StatusNotFound, "blame/song?file=song&at=" + base: http.StatusNotFound} {
		if status, body := p.whole(http.MethodGet, path, ""); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	p.stop()
	s.Must(p.wait())

	made := s.aside("reviewed", "a\n")
	s.Must(s.store().Fetch(t.Context(), s.objects(), made, store.Artefact("x")))
	claim, id := s.work(s.Goal("review it"), blackboard.Artefact{StructuralType: blackboard.Standard, Type: blackboard.TypeCodeCommit, Payload: made})
	s.Complete(claim)
	claim = s.open(id, s.all("lint", blackboard.BidReview)...)
	s.Grant(claim, blackboard.PhaseReview, "lint")
	s.begin(claim, "lint")
	s.Finish(claim, "lint", blackboard.Artefact{StructuralType: blackboard.Review, Type: "Review", Payload: "{}", Summary: "fine"})
	s.Must(s.store().Hold(t.Context(), store.Artefact(id), made))
	s.Must(s.store().LetGo(t.Context(), store.Artefact("x")))
	s.git("merge", "-q", "--ff-only", made)
	if o := s.blames("reviewed").Origins[0]; len(o.Reviewers) != 1 || o.Reviewers[0].By != "lint" || o.Reviewers[0].Verdict != blackboard.Approve || o.Reviewers[0].Says != "fine" {
		t.Errorf("reviewed: %+v", o)
	}

	for _, way := range []string{"--rebase", "--squash", "--merge"} {
		made = s.aside("by"+way, "a\n", "by"+way, "a\nb\n")
		_, terminal = s.brought(s.rev("main"), made)
		s.commitFile("other"+way, "x\n") // main moves on
		s.land(terminal, way)
	}
	for way, want := range map[string]string{
		"--rebase": "writer agent patch; writer agent patch", "--squash": "writer agent message; writer agent message", "--merge": "writer agent history; writer agent commit",
	} {
		if got := writers(s.blames("by" + way)); got != want {
			t.Errorf("after %s: %s\nwant %s", way, got, want)
		}
		if got := writers(s.blames("other" + way)); got != "t person" {
			t.Errorf("beside %s: %s", way, got)
		}
	}
	for _, c := range []struct {
		what string
		code role.Code
		says string
	}{
		{"song:0", role.Usage, "names no lines"}, {"song:3-2", role.Usage, "names no lines"}, {"song:99", role.NotFound, "has only 5 lines"}, {"nothing", role.NotFound, "nothing"},
		{"../song", role.NotFound, "not a git repository"},
	} {
		if _, _, err := s.run("blame", c.what); role.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("blame %s: %d, %v", c.what, role.CodeOf(err), err)
		}
	}
}

// A user's own settings of git, for a file that this repository lacks or an order of files, change nothing.
func TestBlameWithSettings(t *testing.T) {
	s := newStage(t)
	base := s.commitFile("song", "one\ntwo\nthree\n")
	commit := s.aside("song", "one\nTWO\nthree\n")
	_, terminal := s.brought(base, commit)
	lines := [][]string{{"blame", "song", "-o", "json"}, {"blame", "song", "--at", commit[:12], "-o", "json"}, {"diff", terminal}, {"show", terminal}}
	config := filepath.Join(s.home, "hostile")
	s.Must(os.WriteFile(config, []byte("[blame]\nignoreRevsFile = .git-blame-ignore-revs\n[diff]\norderFile = .git-order\nnoprefix = true\n[color]\nui = always\n[log]\nshowSignature = true\n"), 0o600))
	for _, line := range lines {
		s.vars = nil
		want, _, err := s.run(line...)
		if err != nil || want == "" {
			t.Fatalf("%s: %s, %v", line, want, err)
		}
		s.vars = map[string]string{"GIT_CONFIG_GLOBAL": config}
		if got, _, err := s.run(line...); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", line, got, err, want)
		}
	}
}

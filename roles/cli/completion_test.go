package cli

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/grammar"
	"sett/roles/cli/instance"
	"sett/roles/cli/shell"
	"sett/roles/role"
	"sett/roles/role/words"
)

// TestCompletionSources: of every argument and every flag with a value it is known
// where its values come from, though it may be that nobody knows them.
func TestCompletionSources(t *testing.T) {
	whole, _, err := grammarFor(nil)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, key := range shell.Sources() {
		known[key] = true
	}
	need := func(key string, v grammar.Value) {
		if !known[key] && len(v.Choices) == 0 {
			t.Errorf("sources has no %q", key)
		}
		delete(known, key)
	}
	var each func(c *grammar.Command, before string)
	each = func(c *grammar.Command, before string) {
		for _, a := range c.Arguments {
			need(before+strings.ToUpper(a.Name), a.Value)
		}
		for _, f := range c.Flags {
			if !f.Bare {
				need(before+"--"+f.Name, f.Value)
			}
		}
		for _, child := range c.Commands {
			each(child, child.Path()+" ")
		}
	}
	each(whole, "")
	for key := range known {
		t.Errorf("sources has %q, which nobody takes", key)
	}
}

// completed runs what a script asks of a fish shell.
func (s *stage) completed(words ...string) []string {
	s.t.Helper()
	stdout, stderr, err := s.run(append([]string{"__complete", "--", "fish"}, words...)...)
	if err != nil || stderr != "" {
		s.t.Errorf("%q: %v, %s", words, err, stderr)
	}
	return strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
}

func TestComplete(t *testing.T) {
	s := newStage(t)
	ids := s.tell()
	other := &instance.Instance{Dir: filepath.Join(s.home, "sett", "other"), State: instance.State{Name: "other", Workspace: "/else\x1bwhere"}}
	s.Must(os.Mkdir(other.Dir, 0o700))
	s.Must(other.Save())
	s.Must(os.WriteFile(filepath.Join(s.home, "two.yml"), []byte(strings.ReplaceAll(clan, "writer", "painter")), 0o600))
	reviewed := s.Goal("a goal in review")
	s.open(reviewed, s.all("lint", blackboard.BidReview)...)
	s.Grant(blackboard.BiddingClaimID(reviewed), blackboard.PhaseReview, "lint")
	ids["stopped"] = s.Goal("a goal that is cancelled")
	var claim string
	claim, ids["stoppedFailure"] = s.work(ids["stopped"], blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeToolExecutionFailure, Payload: `{"reason":"x"}`})
	s.Must(s.board.People.CancelWorkflow(t.Context(), ids["stopped"], s.byPerson("emil", blackboard.Failure, blackboard.TypeCancelled, `{"reason":"x"}`, "", ids["stopped"], ids["stopped"]), "emil", "x"))
	ids["stoppedClaim"] = claim
	for _, c := range []struct {
		typed string // words; the last is completed
		want  string // the whole answer, an id's ending as {name}; with … only its beginning
	}{
		{"an", ":values|answer\tAnswer a question."},
		{"__", ":values"},
		{"help ver", ":values|version\tSay which sett this is."},
		{"-C / help ver", ":values|version\tSay which sett this is."},
		{"--name help an", ":values|answer\tAnswer a question."},
		{"nonsense ", ":values"},
		{"ledger i", ":values|import\tRead an export into an instance that has no artefacts yet."},
		{"list -o ", ":values|table\t|json\t|jsonl\t|yaml\t"},
		{"list -oj", ":values|-ojson\t|-ojsonl\t"},
		{"list --output=y", ":values|--output=yaml\t"},
		{"list --out", ":values|--output\tHow to print: …"},
		{"list -o json --o", ":values"}, // once is enough
		{"list -- --out", ":values"},
		{"--color ", ":values|auto\t|always\t|never\t"},
		{"--name ", ":values|other\t/else\\x1bwhere|stage\t" + role.Clean(s.root)},
		{"list --name=o", ":values|--name=other\t/else\\x1bwhere"},
		{"-f ", ":files"},
		{"-C ", ":dirs"},
		{"logs -f writer ", ":values|lint\tlint|many\tmany|orchestrator\ta part of Sett|keeper\ta part of Sett|repository\ta part of Sett"},
		{"-f x logs w", ":values|writer\twriter"},
		{"restart wr", ":values|writer\twriter"},
		{"restart writer ", ":values"},
		{"--name stage restart wr", ":values|writer\twriter"},
		{"--name other restart p", ":values"},
		{"-f " + s.home + "/two.yml try p", ":values|painter\tpainter"},
		{"-f ~/two.yml try p", ":values|painter\tpainter"},
		{"--config=" + s.home + "/two.yml try p", ":values|painter\tpainter"},
		{"answer ", ":values|{question}\tQuestion of writer, 0s ago: Which one:"},
		{"answer x ", ":values"},
		{"--name other answer ", ":values"},
		{"-C / answer ", ":values"},
		{"approve ", ":values"},
		{"retry ", ":values|{failure}\tToolExecutionFailure of writer, 0s ago|{failedClaim}\tclaim on GoalDefined {failed}, terminated, 0s ago"},
		{"retry {stoppedFailure}", ":values"}, // of a cancelled goal
		{"cancel @", ":values"},               // it has ended, though others go on
		{"try --artefact {terminal}", ":values"},
		{"try --artefact {question}", ":values"},
		{"try --artefact {first}", ":values|{first}\tDraft of writer, 0s ago: a draft"},
		{"help show ", ":values"},
		{"help fields sh", ":values|show\tSay what a goal, claim or artefact is, and what it waits for."},
		{"help ledger e", ":values|export\tWrite the ledger and every artefact as JSON lines."},
		{"review ", ":values|{reviewed}\tGoalDefined, 0s ago: a goal in review"},
		{"hoard --type D", ":values|Done\tterminal|Draft\tstandard"},
		{"report --only st", ":values|steps\t"},
		{"report --only goal,p", ":values|goal,people\t"},
		{"report --only=people,p", ":values"}, // once is enough
		{"hoard --agent ", ":values|writer\twriter|lint\tlint|many\tmany"},
		{"watch --since ", ":values|all\teverything"},
		{"forage --file ", ":files"},
		{"forage some ", ":values"},
		{"graph @", ":values|@last\tthe newest goal"},
		{"wait @", ":values|@last\tthe newest goal"},
		{"show {full:goal}", ":values|{full:goal}\tGoalDefined, 0s ago: write a page"},
		{"show {claim}", ":values|{claim}\tclaim on Draft {first}, terminated, 0s ago"},
		{"unearth {low:first}", ":values|{first}\tDraft of writer, 0s ago: a draft"},
		{"unearth {low:claim}", ":values"}, // no artefact
		{"cancel {askingClaim}", ":values|{askingClaim}\tclaim on GoalDefined {asking}, pending_exclusive, 0s ago"},
		{"cancel {claim}", ":values"}, // ended
		{"logs --claim {claim}", ":values|{claim}\tclaim on Draft {first}, terminated, 0s ago"},
	} {
		ids["reviewed"] = reviewed
		var pairs []string
		for name, id := range ids {
			pairs = append(pairs, "{"+name+"}", words.Short(id), "{full:"+name+"}", id, "{low:"+name+"}", strings.ToLower(words.Short(id)))
		}
		replace := strings.NewReplacer(pairs...)
		want, open := strings.CutSuffix(replace.Replace(c.want), "…")
		var got string
		fits := func() bool { return got == want || open && strings.HasPrefix(got, want) }
		for range 40 { // a busy machine's blackboard does not always answer in time, and is then done without
			if got = young(strings.Join(s.completed(strings.Split(replace.Replace(c.typed), " ")...), "|")); fits() {
				break
			}
		}
		if !fits() {
			t.Errorf("%s\n got %q\nwant %q", c.typed, got, want)
		}
	}
}

// TestCompleteAway: what does not answer is done without, soon and silently.
func TestCompleteAway(t *testing.T) {
	s := newStage(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	s.Must(err)
	defer silent.Close()
	for name, change := range map[string]func(*instance.State){
		"silent":         func(st *instance.State) { st.URL = "redis://" + silent.Addr().String() },
		"gone":           func(st *instance.State) { st.URL = "redis://127.0.0.1:1" },
		"stopped":        func(st *instance.State) { st.External = false },
		"engine away":    func(st *instance.State) { st.External, st.Runtime = false, config.RuntimeDocker },
		"nothing itself": func(st *instance.State) { st.URL = "\x00" },
	} {
		in := &instance.Instance{Dir: filepath.Join(s.home, "sett", "stage"), State: instance.State{
			Name: "stage", Workspace: s.root, Runtime: config.RuntimeProcess, URL: s.Server.URL, External: true,
		}}
		change(&in.State)
		s.Must(in.Save())
		s.vars = map[string]string{"DOCKER_HOST": "tcp://" + silent.Addr().String()}
		begun := time.Now()
		got := s.completed("answer", "")
		if !slices.Equal(got, []string{":values"}) {
			t.Errorf("%s: %q", name, got)
		}
		if took := time.Since(begun); took > 3*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
	}
}

package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
)

// refuses is a command that must fail so, print no data, and write nothing.
func (s *stage) refuses(want role.Code, says string, args ...string) {
	s.t.Helper()
	before, err := s.board.Records.ListArtefacts(s.t.Context(), blackboard.Filter{})
	s.Must(err)
	stdout, _, err := s.run(args...)
	if err == nil {
		s.t.Errorf("%v succeeds", args)
		return
	}
	if got := role.CodeOf(err); got != want || !strings.Contains(young(err.Error()+"\n"+hint(err)), young(says)) {
		s.t.Errorf("%v: code %d, want %d with %q: %v\nhint: %s", args, got, want, says, err, hint(err))
	}
	if stdout != "" {
		s.t.Errorf("%v prints %q", args, stdout)
	}
	after, err := s.board.Records.ListArtefacts(s.t.Context(), blackboard.Filter{})
	s.Must(err)
	if len(after) != len(before) {
		s.t.Errorf("%v: %d artefacts, %d before", args, len(after), len(before))
	}
}

// wrote checks what a person wrote, whose id is all that the command printed.
func (s *stage) wrote(stdout string, want blackboard.Artefact) blackboard.Artefact {
	s.t.Helper()
	a, err := s.board.Records.Artefact(s.t.Context(), strings.TrimSuffix(stdout, "\n"))
	s.Must(err)
	var m map[string]string
	s.Must(json.Unmarshal(a.Metadata, &m))
	if m["by"] != "anna" || m["request"] == "" || len(m) != 2 {
		s.t.Errorf("metadata %s", a.Metadata)
	}
	if a.StructuralType != want.StructuralType || a.Type != want.Type || a.Payload != want.Payload || a.ProducedByRole != blackboard.RoleHuman ||
		a.ProducedByAgent != "" || a.WorkflowID != want.WorkflowID || a.ClaimID != want.ClaimID || a.Version != 1 || a.LogicalID != a.ID ||
		fmt.Sprint(a.SourceArtefacts) != fmt.Sprint(want.SourceArtefacts) {
		s.t.Errorf("got  %+v\nwant %+v", a, want)
	}
	return a
}

func (s *stage) grantOf(claim, agent string) blackboard.Grant {
	s.t.Helper()
	g, err := s.board.Records.Grant(s.t.Context(), claim, agent)
	s.Must(err)
	return g
}

func TestAnswer(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	goal, claim, question := s.asks("paint it", "which?")
	stdout, stderr, err := s.run("answer", words.Short(question), "the", "red one")
	s.Must(err)
	a := s.wrote(stdout, blackboard.Artefact{StructuralType: blackboard.Answer, Type: "Answer", Payload: "the red one", SourceArtefacts: []string{question}, ClaimID: claim, WorkflowID: goal})
	has(t, stderr, "question "+words.Short(question)+" is answered; writer goes on\n")
	if g := s.grantOf(claim, "writer"); g.State != blackboard.GrantQueued || fmt.Sprint(g.Asked) != fmt.Sprint([]string{question, a.ID}) {
		t.Errorf("grant %+v", g)
	}
	s.refuses(role.Failed, "anna answered it 0s ago, with "+words.Short(a.ID), "answer", question, "no, blue")

	// An agent may ask again; the answer comes from standard input, whole.
	s.begin(claim, "writer")
	question = s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: "which red?"})
	s.stdin = strings.NewReader("  crimson\n\nor so\n")
	stdout, stderr, err = s.run("answer", question, "-", "--quiet")
	s.Must(err)
	s.wrote(stdout, blackboard.Artefact{StructuralType: blackboard.Answer, Type: "Answer", Payload: "  crimson\n\nor so", SourceArtefacts: []string{question}, ClaimID: claim, WorkflowID: goal})
	if stderr != "" {
		t.Errorf("--quiet talks: %s", stderr)
	}
	if g := s.grantOf(claim, "writer"); len(g.Asked) != 4 {
		t.Errorf("grant %+v", g)
	}
}

// An answer about a budget says what becomes of the work by it.
func TestAnswerAboutBudget(t *testing.T) {
	s := newStage(t)
	for text, want := range map[string]string{
		"more: calls=2": "; writer goes on\n", "more calls=2": "; writer goes on\n", "more money": `; writer asks again: unknown limit "money"; write more: cost=5`,
		"no, enough": "; it gives no more, so writer ends its work there with a Failure\n",
	} {
		_, question := s.work(s.Goal("paint it"), blackboard.Artefact{StructuralType: blackboard.Question, Type: blackboard.TypeBudgetExceeded, Payload: "The goal's budget of 1 call is used up (1)."})
		_, stderr, err := s.run("answer", question, text)
		s.Must(err)
		has(t, stderr, want)
	}
}

// An answer that raises a goal's budget is given to its other questions about that budget, and to no others.
func TestAnswerForAll(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("paint it")
	at := map[string]string{} // the artefact of each goal that nobody has worked on yet
	puts := func(goal string, q blackboard.Artefact) string {
		on := cmp.Or(at[goal], goal)
		claim := s.open(on, blackboard.BidRequest{Agent: "writer", Bid: blackboard.BidClaim}, blackboard.BidRequest{Agent: "lint", Bid: blackboard.BidClaim}, blackboard.BidRequest{Agent: "many", Bid: blackboard.BidIgnore})
		s.Grant(claim, blackboard.PhaseParallel, "writer", "lint")
		s.begin(claim, "lint")
		at[goal] = s.Finish(claim, "lint", blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Coat", Payload: "x"})
		s.begin(claim, "writer")
		return s.Finish(claim, "writer", q)
	}
	ask := func(goal, of, unit string) string {
		return puts(goal, blackboard.Artefact{StructuralType: blackboard.Question, Type: blackboard.TypeBudgetExceeded, Payload: "used up", Metadata: blackboard.Wanted{Of: of, Unit: unit}.Metadata()})
	}
	first, same, old := ask(goal, blackboard.BudgetOfGoal, "calls"), ask(goal, blackboard.BudgetOfGoal, "calls"), ask(goal, blackboard.BudgetOfGoal, "")
	apart := []string{ask(goal, blackboard.BudgetOfGoal, "cost"), ask(goal, blackboard.BudgetOfGrant, "calls"), ask(s.Goal("paint that"), blackboard.BudgetOfGoal, "calls")}
	plain := puts(goal, blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: "which?"})
	open := func() []string {
		ids, err := s.board.Index.OpenQuestions(t.Context())
		s.Must(err)
		slices.Sort(ids)
		return ids
	}
	stdout, stderr, err := s.run("answer", first, "more: calls=2")
	s.Must(err)
	has(t, stderr, "question "+words.Short(same)+" about the same budget is answered by it, too; writer goes on", words.Short(old)+" about")
	if strings.Count(stdout, "\n") != 1 {
		t.Errorf("stdout %q", stdout)
	}
	want := append([]string{plain}, apart...)
	slices.Sort(want)
	if got := open(); !slices.Equal(got, want) {
		t.Errorf("%q wait, want %q", got, want)
	}
	_, stderr, err = s.run("answer", apart[0], "more money")
	s.Must(err)
	if has(t, stderr, "asks again"); len(open()) != 3 {
		t.Errorf("an answer that cannot be read went on:\n%s", stderr)
	}
}

func TestAnswerRefused(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	goal, claim, question := s.asks("paint it", "which?")
	_, held := s.holds(blackboard.Standard)
	_, cancelled, late := s.asks("paint that", "which?")
	_, _, err := s.run("cancel", cancelled, "never mind")
	s.Must(err)
	for _, tc := range []struct {
		code role.Code
		says string
		args []string
	}{
		{role.NotFound, "no artefact or claim has an id", []string{"zzzzz9", "x"}},
		{role.NotFound, "is no question, it is GoalDefined", []string{goal, "x"}},
		{role.NotFound, "is a claim", []string{claim, "x"}},
		{role.NotFound, "approve " + words.Short(held), []string{held, "x"}},
		{role.Usage, "the answer is empty", []string{question, ""}},
		{role.Usage, "the answer is empty", []string{question, " \n\t"}},
		{role.Usage, "not UTF-8", []string{question, "\xff"}},
		{role.Usage, `nobody is at a terminal`, []string{question}},
		{role.Usage, `answer ` + words.Short(question) + ` "…", or - to read it`, []string{question}},
		{role.Failed, "its claim " + words.Short(cancelled) + " is terminated: cancelled by anna: never mind", []string{late, "x"}},
	} {
		s.refuses(tc.code, tc.says, append([]string{"answer"}, tc.args...)...)
	}
	for says, text := range map[string]io.Reader{
		"larger than 8 MiB": strings.NewReader(strings.Repeat("x", maxText+2)), "not UTF-8": strings.NewReader("a\xc3"), "is empty": strings.NewReader("\n"),
	} {
		s.stdin = text
		if _, _, err := s.run("answer", question, "-"); role.CodeOf(err) != role.Usage || !strings.Contains(err.Error(), says) || hint(err) == "" {
			t.Errorf("%s: %v, hint %q", says, err, hint(err))
		}
	}
	if g := s.grantOf(claim, "writer"); g.State != blackboard.GrantAwaitingAnswer {
		t.Errorf("grant %+v", g)
	}
}

// Of all who answer at the same time one is heard, and the others are told.
func TestAnswerAtOnce(t *testing.T) {
	s := newStage(t)
	_, claim, question := s.asks("paint it", "which?")
	var calls []*call
	for i := range 6 {
		s.by(fmt.Sprintf("person-%d", i))
		calls = append(calls, s.start("answer", question, "colour", fmt.Sprint(i)))
	}
	heard := ""
	for i, c := range calls {
		if err := c.wait(); err == nil {
			heard += fmt.Sprintf("person-%d", i)
		} else if role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "answered it") || c.out.String() != "" {
			t.Errorf("%d: %v, %q", i, err, c.out.String())
		}
	}
	g := s.grantOf(claim, "writer")
	if len(g.Asked) != 2 {
		t.Fatalf("grant %+v", g)
	}
	a, err := s.board.Records.Artefact(t.Context(), g.Asked[1])
	s.Must(err)
	if blackboard.PersonOf(a) != heard {
		t.Errorf("heard was %q, the Answer is of %s", heard, blackboard.PersonOf(a))
	}
}

// The answer is kept for an agent that is not there, and is in what it starts with
// when it is back.
func TestAnswerOfTheDead(t *testing.T) {
	s := newStage(t)
	_, claim, question := s.asks("paint it", "which?")
	s.Must(s.board.Cub.Goodbye(t.Context(), "writer", "i-writer", "killed"))
	stdout, stderr, err := s.run("answer", question, "red")
	s.Must(err)
	has(t, stderr, "writer goes on when it is back (is not running)")
	s.Must(s.board.Cub.Hello(t.Context(), "writer", blackboard.Presence{Incarnation: "i-again"}, blackboard.MostPromised))
	work, err := s.board.Index.OpenAgentWork(t.Context(), "writer")
	s.Must(err)
	if fmt.Sprint(work.Grants) != fmt.Sprint([]string{claim}) {
		t.Errorf("its queue: %+v", work)
	}
	st, err := s.board.Cub.Start(t.Context(), blackboard.StartRequest{Claim: claim, Agent: "writer", Holder: "i-again"})
	s.Must(err)
	if want := []string{question, strings.TrimSpace(stdout)}; fmt.Sprint(st.Grant.Asked) != fmt.Sprint(want) {
		t.Errorf("it starts with %+v, want %v", st, want)
	}
}

// editor has commands use an editor that runs a script, at a terminal. $1 is the
// file. It returns the directory of such files.
func (s *stage) editor(variable, script string) string {
	s.t.Helper()
	tmp := s.t.TempDir()
	path := filepath.Join(s.t.TempDir(), "my editor")
	s.Must(os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	s.vars = map[string]string{term.EnvUser: "anna", "TMPDIR": tmp, variable: "'" + path + "' --flag"}
	s.stdin = openTerminal(s.t)
	return tmp
}

// left are the files in a directory, with what is in them.
func left(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(b))
	}
	return strings.Join(all, "\n")
}

func TestAnswerInEditor(t *testing.T) {
	s := newStage(t)
	goal, claim, question := s.asks("paint it", "which?\n\x1b[2Jred or blue")
	tmp := s.editor("EDITOR", `test "$1" = --flag || exit 9
cp "$2" "$2.seen"; echo talk; printf '\n\n  red  \n\n\n# not this\nof course\n\n' > "$2"`)
	stdout, stderr, err := s.run("answer", question)
	s.Must(err)
	s.wrote(stdout, blackboard.Artefact{StructuralType: blackboard.Answer, Type: "Answer", Payload: "  red\n\nof course", SourceArtefacts: []string{question}, ClaimID: claim, WorkflowID: goal})
	has(t, stderr, "talk\n", "writer goes on")
	seen := left(t, tmp)
	has(t, seen, "\n# Question "+words.Short(question)+" of writer:\n#\n# which?\n# \\x1b[2Jred or blue\n")
	if withoutComments(seen) != "" {
		t.Errorf("it begins with the text %q", withoutComments(seen))
	}

	_, _, question = s.asks("paint that", "which?")
	for name, tc := range map[string]struct {
		script, says string
	}{
		"unchanged": {"true", "the answer is empty; nothing was written"},
		"emptied":   {`: > "$2"`, "the answer is empty; nothing was written"},
		"broken":    {"exit 3", "exit status 3; nothing was written"},
		"gone":      {`rm "$2"`, "no such file"},
		"Ctrl-C":    {"kill -INT $$", "interrupted; nothing was written"},
	} {
		tmp = s.editor("EDITOR", tc.script)
		code := role.Failed
		if name == "Ctrl-C" {
			code = role.Interrupted
		}
		s.refuses(code, tc.says, "answer", question)
		if got := left(t, tmp); got != "" {
			t.Errorf("%s leaves %q", name, got)
		}
	}
	for script, kept := range map[string]string{
		`printf 'an hour\n# of typing\n' > "$2"; exit 1`: "an hour\n",
		`echo '#1 of the list' >> "$2"; exit 1`:          "#1 of the list\n",
		`echo '#1 of the list' > "$2"`:                   "#1 of the list\n",
	} {
		tmp = s.editor("EDITOR", script)
		s.refuses(role.Failed, "nothing was written\nwhat you typed is kept in "+tmp, "answer", question)
		if got := left(t, tmp); !strings.HasSuffix(got, kept) {
			t.Errorf("%s: kept is %q", script, got)
		}
	}
	tmp = s.editor("VISUAL", `echo blue > "$2"`)
	s.vars["EDITOR"] = "false"
	_, _, err = s.run("answer", question)
	s.Must(err)
	if got := left(t, tmp); got != "" {
		t.Errorf("what was written is left: %q", got)
	}
}

// Who typed an answer that comes too late has it still.
func TestAnswerTypedTooLate(t *testing.T) {
	s := newStage(t)
	_, _, question := s.asks("paint it", "which?")
	tmp := s.editor("EDITOR", `: > "$2.open"; until [ -e "$2.go" ]; do sleep 0.01; done; rm "$2.go" "$2.open"; printf 'red\n# no\n' > "$2"`)
	c := s.start("answer", question)
	s.Until("the editor is open", func() bool {
		open, _ := filepath.Glob(filepath.Join(tmp, "*.open"))
		return len(open) == 1
	})
	s.by("bob")
	_, _, err := s.run("answer", question, "blue")
	s.Must(err)
	open, err := filepath.Glob(filepath.Join(tmp, "*.open"))
	s.Must(err)
	s.Must(os.WriteFile(strings.TrimSuffix(open[0], ".open")+".go", nil, 0o600))
	err = c.wait()
	if role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "bob answered it") || !strings.Contains(err.Error(), "what you typed is kept in "+tmp) {
		t.Errorf("%v", err)
	}
	if got := left(t, tmp); got != "red\n" {
		t.Errorf("kept is %q", got)
	}
}

func TestWho(t *testing.T) {
	for given, want := range map[string]string{
		"anna": "anna", " anna  b \n": "anna b", "x\x1by": `x\x1by`, strings.Repeat("ä", 70): strings.Repeat("ä", 64),
	} {
		a := &app{Terminal: term.Terminal{Env: role.Env{Lookup: func(name string) (string, bool) { return given, name == term.EnvUser }}}}
		if got := a.Who(); got != want {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
	nobody := &app{Terminal: term.Terminal{Env: role.Env{Lookup: func(string) (string, bool) { return "", false }}}}
	if got := nobody.Who(); got == "" {
		t.Error("nobody")
	}
}

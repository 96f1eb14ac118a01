package assemble

import (
	"fmt"
	"strings"
	"testing"

	"sett/blackboard"
)

// TestStarts is the rule where a tree starts.
func TestStarts(t *testing.T) {
	for _, tc := range []struct {
		name, board, target string
		joined, settled     []string
		want                string // empty: the goal's base
	}{
		{name: "goal", board: "goal Standard", target: "goal"},
		{name: "no commit anywhere", board: "goal Standard\nplan Standard goal", target: "plan"},
		{name: "its own", board: "goal Standard\na Standard@1 goal\nb Standard@2 a", target: "b", want: "b"},
		{name: "of a result of any kind", board: "goal Standard\na Terminal@1 goal", target: "a", want: "a"},
		{name: "of an older Sett", board: "goal Standard\na CodeCommit goal\nreport Standard a", target: "report", want: "a"},
		{name: "rework: the rejected version's", board: "goal Standard\na Standard@1 goal\nreview Review a\na.2 Standard@2 a review", target: "a.2", want: "a.2"},
		{name: "not a newer version of the target", board: "goal Standard\na Standard@1 goal\na.2 Standard@2 a", target: "a", want: "a"},
		{name: "a target without, in a thread with", board: "goal Standard\na Standard@1 goal\na.2 Standard a\na.3 Standard@3 a.2", target: "a.2", want: "a"},
		{name: "the nearest", board: "goal Standard\na Standard@1 goal\nb Standard@2 a\nreport Standard b", target: "report", want: "b"},
		{name: "through artefacts that the chain does not list", board: "goal Standard\na Standard@1 goal\nreview Review a\nb Standard review", target: "b", want: "a"},
		{name: "its latest version", board: "goal Standard\na Standard@1 goal\nreport Standard a\nreview Review a\na.2 Standard@2 a review", target: "report", want: "a.2"},
		{name: "a latest version without", board: "goal Standard\na Standard@1 goal\nreport Standard a\nreview Review a\na.2 Standard a review", target: "report", want: "a"},
		{name: "several sources, the oldest first", board: "goal Standard\na Standard@1 goal\nb Standard@2 goal\nc Standard b goal a", target: "c", want: "a b"},
		{name: "each source stands for its own", board: "goal Standard\na Standard@1 goal\ntest Standard a\nb Standard@2 goal\nbatch Standard test b", target: "batch", want: "a b"},
		{name: "a diamond counts once", board: "goal Standard\na Standard@1 goal\nb Standard a\nc Standard a\nd Standard b c", target: "d", want: "a"},
		{name: "a cycle ends", board: "goal Standard\na Standard b\nb Standard a", target: "a"},
		{name: "parallel results after the target", board: "goal Standard\na Standard@1 goal\nx Standard@2 a\ny Standard a\nz Standard@3 a", target: "a", joined: []string{"z", "y", "x"}, want: "a x z"},
		{name: "parallel results on the base", board: "goal Standard\nx Standard@2 goal\ny Standard@3 goal", target: "goal", joined: []string{"x", "y"}, want: "x y"},
		{name: "a conflict that another settled", board: "goal Standard\nx Standard@2 goal\ny Standard@3 goal\ns Standard@4 x y", target: "goal", joined: []string{"y", "x"}, settled: []string{"s"}, want: "s x y"},
		{name: "two of them", board: "goal Standard\nx Standard@2 goal\ny Standard@3 goal\ns Standard@4 x y\nz Standard@5 s", target: "goal", joined: []string{"x", "y"}, settled: []string{"s", "z"}, want: "z s x y"},
		{name: "its newer version", board: "goal Standard\nx Standard@2 goal\ns Standard@4 x\ns.2 Standard@5 s", target: "goal", joined: []string{"x"}, settled: []string{"s"}, want: "s.2 x"},
		{name: "a conflict that a rework settled", board: "goal Standard\nx Standard@2 goal\ny Standard@3 goal\ny.2 Standard@4 y", target: "goal", joined: []string{"x", "y"}, settled: []string{"y.2"}, want: "x y.2"},
		{name: "a conflict as the target", board: "goal Standard\nx Standard@2 goal\nk Conflict@9 x", target: "k", want: "k"},
		{name: "a conflict on the way", board: "goal Standard\nx Standard@2 goal\ny Standard@3 goal\nk Conflict@9 x y\nreport Standard k", target: "report", want: "x y"},
		{name: "a rework without a commit", board: "goal Standard\nx Standard@2 goal\nr ConflictReview@9 x\nx.2 Standard x r", target: "x.2", want: "x"},
		{name: "a lost source", board: "goal Standard\na Standard@1 goal\nb Standard lost a", target: "b", want: "a"},
		{name: "deeper than the context", board: deep(3 * MaxDepth), target: fmt.Sprintf("n%d", 3*MaxDepth), want: "n0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBoard(t, tc.board)
			extra := []string{"goal"}
			var task Task
			for i, m := range []*Memory{nil, full(b), {}} { // whatever is kept
				var err error
				if task, err = ForTask(t.Context(), b, m, b.all[tc.target], extra, tc.joined, tc.settled); err != nil {
					t.Fatal(err)
				}
				if got := ids(task.Starts); got != tc.want {
					t.Errorf("with memory %d: got %q, want %q", i, got, tc.want)
				}
			}
			chain, _, err := Chain(t.Context(), b, b.all[tc.target], extra)
			if err != nil || ids(task.Chain) != ids(chain) {
				t.Errorf("the chain is %q, alone %q, error %v", ids(task.Chain), ids(chain), err)
			}
		})
	}
}

// full is a memory of a whole board.
func full(b *board) *Memory {
	m := &Memory{}
	for _, a := range b.all {
		m.keep(&a)
	}
	return m
}

// A long line without a commit is read once: each further task costs as many reads as its context, and one
// for the latest versions, of which one may have become newer.
func TestLongLine(t *testing.T) {
	const steps = 500
	b := newBoard(t, strings.ReplaceAll(deep(steps), "@1", ""))
	m := &Memory{}
	task := func(id string, want string) (reads int) {
		t.Helper()
		before := len(b.reads)
		got, err := ForTask(t.Context(), b, m, b.all[id], nil, nil, nil)
		if err != nil || ids(got.Starts) != want {
			t.Fatalf("%s starts from %q, want %q: %v", id, ids(got.Starts), want, err)
		}
		return len(b.reads) - before
	}
	last := fmt.Sprintf("n%d", steps)
	task(last, "")
	if reads, most := task(last, ""), 2*MaxDepth+3; reads > most {
		t.Errorf("%d reads, want at most %d", reads, most)
	}
	b.all["n7.2"] = blackboard.Artefact{ID: "n7.2", LogicalID: "n7", Version: 2, StructuralType: blackboard.Standard, Commit: "7"}
	task(last, "n7.2")
}

// A memory does not grow without end.
func TestMemoryIsBounded(t *testing.T) {
	m := &Memory{}
	for i := range 2*mostKept + 2 {
		m.keep(&blackboard.Artefact{ID: fmt.Sprint(i), Payload: "text"})
		if len(m.all) > mostKept {
			t.Fatalf("%d artefacts are kept", len(m.all))
		}
	}
	if a := m.get(fmt.Sprint(2*mostKept + 1)); a == nil || a.Payload != "" {
		t.Errorf("the last one is kept as %+v", a)
	}
}

// deep is a line of artefacts of which the first has the only commit.
func deep(n int) string {
	lines := []string{"goal Standard", "n0 Standard@1 goal"}
	for i := range n {
		lines = append(lines, fmt.Sprintf("n%d Standard n%d", i+1, i))
	}
	return strings.Join(lines, "\n")
}

// A target with a commit costs no read beyond those of its context.
func TestStartsCostNoReads(t *testing.T) {
	b := newBoard(t, deep(2*MaxDepth))
	target := b.all[fmt.Sprintf("n%d", 2*MaxDepth)]
	target.Commit = "2"
	if _, _, err := Chain(t.Context(), b, target, nil); err != nil {
		t.Fatal(err)
	}
	alone := len(b.reads)
	task, err := ForTask(t.Context(), b, nil, target, nil, nil, nil)
	if err != nil || len(task.Starts) != 1 || len(b.reads) != 2*alone {
		t.Errorf("%d reads more than %d, starts %v, error %v", len(b.reads)-2*alone, alone, task.Starts, err)
	}
	b.err = blackboard.ErrUnavailable
	if _, err := ForTask(t.Context(), b, nil, target, nil, nil, nil); err == nil {
		t.Error("a blackboard that is away is no error")
	}
}

package assemble

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
)

// board is a blackboard in memory that counts and remembers what is read of it.
type board struct {
	all     map[string]blackboard.Artefact
	corrupt map[string]bool
	stale   map[string]string // answers of LatestVersions that are not true any more
	err     error
	reads   []string // "artefacts" or "threads", per call
	read    map[string]int
}

func (b *board) Artefacts(_ context.Context, ids []string) ([]blackboard.Artefact, error) {
	b.reads = append(b.reads, "artefacts")
	var out []blackboard.Artefact
	for _, id := range ids {
		a, ok := b.all[id]
		switch {
		case b.err != nil:
			return nil, b.err
		case b.corrupt[id]:
			return nil, fmt.Errorf("read artefact %s: %w", id, blackboard.ErrCorrupt)
		case !ok:
			return nil, fmt.Errorf("read artefact %s: %w", id, blackboard.ErrNotFound)
		}
		b.read[id]++
		out = append(out, a)
	}
	return out, nil
}

func (b *board) LatestVersions(_ context.Context, logicalIDs []string) (map[string]string, error) {
	b.reads = append(b.reads, "threads")
	if b.err != nil {
		return nil, b.err
	}
	out := map[string]string{}
	best := map[string]int{}
	for id, a := range b.all {
		if slices.Contains(logicalIDs, a.LogicalID) && a.Version > best[a.LogicalID] {
			best[a.LogicalID], out[a.LogicalID] = a.Version, id
		}
	}
	for thread, id := range b.stale {
		out[thread] = id
	}
	return out, nil
}

// newBoard makes artefacts of lines "THREAD.VERSION TYPE source source …", each
// one second younger than the one before. The id of version 1 is its thread's. TYPE@COMMIT
// has a commit, CodeCommit one in its payload alone.
func newBoard(t *testing.T, text string) *board {
	t.Helper()
	b := &board{all: map[string]blackboard.Artefact{}, corrupt: map[string]bool{}, read: map[string]int{}}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		thread, version := words[0], 1
		if at := strings.IndexByte(thread, '.'); at >= 0 {
			version = int(thread[at+1] - '0')
			thread = thread[:at]
		}
		structural, commit, _ := strings.Cut(words[1], "@")
		a := blackboard.Artefact{
			ID: words[0], LogicalID: thread, Version: version, StructuralType: blackboard.StructuralType(structural),
			SourceArtefacts: words[2:], CreatedAt: time.Unix(int64(i), 0), Commit: commit,
		}
		switch structural { // of the role repository
		case blackboard.TypeConflict:
			a.StructuralType, a.Type, a.ProducedByRole = blackboard.Standard, structural, blackboard.RoleRepository
		case blackboard.TypeConflictReview:
			a.StructuralType, a.Type, a.ProducedByRole = blackboard.Review, structural, blackboard.RoleRepository
		}
		if structural == blackboard.TypeCodeCommit { // of an older Sett
			a.StructuralType, a.Type, a.Payload = blackboard.Standard, structural, "c0ffee\n"
		}
		b.all[words[0]] = a
		if version == 1 && strings.Contains(words[0], ".") {
			t.Fatalf("write %s without its version", words[0])
		}
	}
	return b
}

func ids(chain []blackboard.Artefact) string {
	var out []string
	for _, a := range chain {
		out = append(out, a.ID)
	}
	return strings.Join(out, " ")
}

// chains are boards, and what the chain of a target on them is.
var chains = []struct {
	name, board, target string
	extra               []string
	want, missing       string
	reads               int // calls at most
}{
	{name: "root", board: "goal Standard", target: "goal", reads: 0},
	{
		name:   "line",
		board:  "goal Standard\ndesign Standard goal\ncode Standard design",
		target: "code", want: "goal design", reads: 4,
	},
	{
		name:   "diamond",
		board:  "goal Standard\na Standard goal\nb Standard goal\nc Standard b a",
		target: "c", want: "goal a b", reads: 4,
	},
	{
		name:   "oldest first whatever the order of sources",
		board:  "one Standard\ntwo Standard\nthree Standard\nx Standard three one two",
		target: "x", want: "one two three", reads: 2,
	},
	{
		name:   "reworked target: its thread is traversed, not listed, and the goal is reached",
		board:  "goal Standard\ncode Standard goal\nreview Review code\ncode.2 Standard code review",
		target: "code.2", want: "goal", reads: 4,
	},
	{
		name:   "reworked source: the goal is reached through the version before",
		board:  "goal Standard\ncode Standard goal\nreview Review code\ncode.2 Standard code review\ntest Standard code.2",
		target: "test", want: "goal code.2", reads: 6,
	},
	{
		name:   "thread that moved on is replaced, both versions' sources are followed",
		board:  "goal Standard\nold Standard\nplan Standard goal old\nnew Standard\nplan.2 Standard new\ncode Standard plan",
		target: "code", want: "goal old new plan.2", reads: 6,
	},
	{
		name:   "versions newer than the target are left alone",
		board:  "goal Standard\ncode Standard goal\nlater Standard\ncode.2 Standard code later",
		target: "code", want: "goal", reads: 2,
	},
	{
		name:   "only Standard and Answer are listed, through all is looked",
		board:  "goal Standard\nq Question goal\na Answer q\nr Review a\nf Failure r\nt Terminal f\nx Standard t",
		target: "x", want: "goal a", reads: 12,
	},
	{
		name:   "cycle",
		board:  "goal Standard b\na Standard goal\nb Standard a x\nx Standard b",
		target: "x", want: "goal a b", reads: 6,
	},
	{
		name:   "own source",
		board:  "goal Standard\nx Standard x goal",
		target: "x", want: "goal", reads: 2,
	},
	{
		name:   "missing ones are named, and what only they lead to is absent",
		board:  "goal Standard\na Standard goal\nx Standard gone a lost",
		target: "x", want: "goal a", missing: "gone lost", reads: 8,
	},
	{
		name:   "extra follows in its order, once, whatever its type, without its sources",
		board:  "far Standard\ngoal Standard\nq Question far\na Answer q\nr Review far\nx Standard goal",
		target: "x", extra: []string{"r", "a", "q", "a"}, want: "goal r a q", reads: 2,
	},
	{
		name:   "extra for a root is one look",
		board:  "goal Standard\nq Question goal\na Answer q",
		target: "goal", extra: []string{"q", "a"}, want: "q a", reads: 2,
	},
	{
		name:   "extra is listed there and not among the others",
		board:  "goal Standard\na Standard goal\nb Standard goal\nx Standard a b",
		target: "x", extra: []string{"a"}, want: "goal b a", reads: 4,
	},
	{
		name:   "missing extra",
		board:  "goal Standard\nr Review goal\nx Standard goal",
		target: "x", extra: []string{"gone", "r"}, want: "goal r", missing: "gone", reads: 5,
	},
	{
		name:   "the target itself as extra",
		board:  "goal Standard\nx Standard goal",
		target: "x", extra: []string{"x"}, want: "goal x", reads: 2,
	},
}

func TestChain(t *testing.T) {
	for _, test := range chains {
		t.Run(test.name, func(t *testing.T) {
			b := newBoard(t, test.board)
			extra := append(slices.Clone(test.extra), "spare")[:len(test.extra)]
			chain, missing, err := Chain(t.Context(), b, b.all[test.target], extra)
			if err != nil {
				t.Fatal(err)
			}
			if chain == nil {
				t.Error("the chain is nil")
			}
			if got := ids(chain); got != test.want {
				t.Errorf("chain %q, want %q", got, test.want)
			}
			if got := strings.Join(missing, " "); got != test.missing {
				t.Errorf("missing %q, want %q", got, test.missing)
			}
			if len(b.reads) > test.reads {
				t.Errorf("%d reads, want at most %d: %v", len(b.reads), test.reads, b.reads)
			}
			if extra[:len(extra)+1][len(extra)] != "spare" {
				t.Error("the caller's slice was written to")
			}
			for id, n := range b.read {
				if n > 1 && test.missing == "" {
					t.Errorf("%s was read %d times", id, n)
				}
			}
		})
	}
}

func TestChainJSONOfRoot(t *testing.T) {
	b := newBoard(t, "goal Standard")
	chain, _, err := Chain(t.Context(), b, b.all["goal"], nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := json.Marshal(chain); string(text) != "[]" {
		t.Errorf("got %s, want []", text)
	}
}

// TestChainDepth: of a line of sources exactly MaxDepth are listed, the last of
// them in its latest version, with two calls per level.
func TestChainDepth(t *testing.T) {
	text := "n0 Standard\n"
	for i := 1; i <= 15; i++ {
		text += fmt.Sprintf("n%d Standard n%d\n", i, i-1)
	}
	text += "n5.2 Standard\nn4.2 Standard\n"
	b := newBoard(t, text)
	chain, _, err := Chain(t.Context(), b, b.all["n15"], nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := ids(chain), "n6 n7 n8 n9 n10 n11 n12 n13 n14 n5.2"; got != want {
		t.Errorf("chain %q, want %q", got, want)
	}
	if want := 2*MaxDepth + 1; len(b.reads) != want {
		t.Errorf("%d reads, want %d", len(b.reads), want)
	}
}

// TestChainLevelOfNewerVersion: a newer version does not push its sources one
// level away.
func TestChainLevelOfNewerVersion(t *testing.T) {
	text := "n0 Standard\n"
	for i := 1; i <= MaxDepth; i++ {
		text += fmt.Sprintf("n%d Standard\nn%d.2 Standard n%d\n", i, i, i-1)
	}
	b := newBoard(t, text+"x Standard n9")
	chain, _, err := Chain(t.Context(), b, b.all["x"], nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := ids(chain), "n0 n1.2 n2.2 n3.2 n4.2 n5.2 n6.2 n7.2 n8.2 n9.2"; got != want {
		t.Errorf("chain %q, want %q", got, want)
	}
}

func TestChainCorruptSource(t *testing.T) {
	b := newBoard(t, "goal Standard\nbad Standard goal\nx Standard bad goal")
	b.corrupt["bad"] = true
	chain, missing, err := Chain(t.Context(), b, b.all["x"], nil)
	if err != nil || ids(chain) != "goal" || !slices.Equal(missing, []string{"bad"}) {
		t.Errorf("got %q, %v, %v", ids(chain), missing, err)
	}
}

// TestChainThreadsAnswerIsOld: the highest version that was read wins over what
// the thread said a moment before; a latest version that is gone is no loss.
func TestChainThreadsAnswerIsOld(t *testing.T) {
	b := newBoard(t, "plan Standard\nplan.2 Standard\nx Standard plan.2")
	b.stale = map[string]string{"plan": "plan"}
	if chain, _, err := Chain(t.Context(), b, b.all["x"], nil); err != nil || ids(chain) != "plan.2" {
		t.Errorf("got %q, %v", ids(chain), err)
	}
	b.stale = map[string]string{"plan": "gone"}
	chain, missing, err := Chain(t.Context(), b, b.all["x"], nil)
	if err != nil || ids(chain) != "plan.2" || !slices.Equal(missing, []string{"gone"}) {
		t.Errorf("got %q, %v, %v", ids(chain), missing, err)
	}
}

func TestChainReaderFails(t *testing.T) {
	b := newBoard(t, "goal Standard\nx Standard goal")
	b.err = blackboard.ErrUnavailable
	if _, _, err := Chain(t.Context(), b, b.all["x"], nil); !errors.Is(err, blackboard.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	for _, r := range []Reader{threadsFail{newBoard(t, "goal Standard")}, short{b}, laterFails{newBoard(t, "goal Standard")}} {
		if _, _, err := Chain(t.Context(), r, b.all["x"], []string{"gone"}); err == nil {
			t.Errorf("%T: no error", r)
		}
	}
}

// threadsFail reads artefacts, but no threads.
type threadsFail struct{ *board }

func (threadsFail) LatestVersions(context.Context, []string) (map[string]string, error) {
	return nil, blackboard.ErrUnavailable
}

// short answers with too little.
type short struct{ *board }

func (short) Artefacts(context.Context, []string) ([]blackboard.Artefact, error) { return nil, nil }

// laterFails is there for the first read only.
type laterFails struct{ *board }

func (r laterFails) Artefacts(ctx context.Context, ids []string) ([]blackboard.Artefact, error) {
	if len(r.reads) > 0 {
		return nil, blackboard.ErrUnavailable
	}
	return r.board.Artefacts(ctx, ids)
}

// TestGoalIsAlwaysThere: the goal is listed where it lies too deep, once where it is
// reached as well, and not as the context of itself.
func TestGoalIsAlwaysThere(t *testing.T) {
	text := "goal Standard\nn1 Standard goal\n"
	for i := 2; i <= 20; i++ {
		text += fmt.Sprintf("n%d Standard n%d\n", i, i-1)
	}
	b := newBoard(t, text)
	for id, a := range b.all {
		a.WorkflowID = "goal"
		b.all[id] = a
	}
	for target, want := range map[string]string{
		"n20": "goal n10 n11 n12 n13 n14 n15 n16 n17 n18 n19", "n3": "goal n1 n2", "n1": "goal", "goal": "",
	} {
		chain, missing, err := Chain(t.Context(), b, b.all[target], nil)
		if err != nil || len(missing) > 0 || ids(chain) != want {
			t.Errorf("%s: %q, missing %v, %v; want %q", target, ids(chain), missing, err, want)
		}
	}
	delete(b.all, "goal")
	if chain, missing, err := Chain(t.Context(), b, b.all["n12"], nil); err != nil || fmt.Sprint(missing) != "[goal]" || len(chain) != 10 {
		t.Errorf("without the goal: %q, missing %v, %v", ids(chain), missing, err)
	}
}

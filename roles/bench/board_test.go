//go:build bench

package bench

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/blackboard/redis/redistest"
)

const history = 100_000

// fill puts artefacts on the board through the very moves that make them: goals
// whose claims end with a Terminal of 600 bytes.
func fill(tb testing.TB, b *redis.Board, epoch string, artefacts int) {
	tb.Helper()
	var wg sync.WaitGroup
	slots := make(chan struct{}, 64)
	for range artefacts / 2 {
		slots <- struct{}{}
		wg.Go(func() {
			fillOne(tb, b, epoch)
			<-slots
		})
	}
	wg.Wait()
}

func fillOne(tb testing.TB, b *redis.Board, epoch string) {
	ctx := context.Background()
	g := goal("x")
	claim := blackboard.BiddingClaimID(g.ID)
	check := func(err error) {
		if err != nil {
			tb.Error(err)
		}
	}
	check(b.People.PostGoal(ctx, g, "ann"))
	_, _, err := b.Leader.OpenClaim(ctx, epoch, g.ID, []string{"old"}, 0)
	check(err)
	_, err = b.Cub.SubmitBids(ctx, []blackboard.BidRequest{{Claim: claim, Agent: "old", Bid: blackboard.BidExclusive}})
	check(err)
	check(b.Leader.GrantPhase(ctx, blackboard.Guard{Epoch: epoch, Claim: claim, Revision: 2}, blackboard.PhaseExclusive, []string{"old"}))
	_, err = b.Cub.Start(ctx, blackboard.StartRequest{Claim: claim, Agent: "old", Holder: "h"})
	check(err)
	check(b.Cub.Finish(ctx, blackboard.Result{GrantRef: blackboard.GrantRef{Claim: claim, Agent: "old", Attempt: 1, Holder: "h"},
		Artefact: blackboard.Artefact{ID: blackboard.NewID(time.Now(), rand.Reader), StructuralType: blackboard.Terminal, Type: "Old",
			Payload: strings.Repeat("x", 300), SourceArtefacts: []string{g.ID}, ProducedByAgent: "old", ProducedByRole: "old",
			ClaimID: claim, WorkflowID: g.ID}}))
	check(b.Leader.CompleteClaim(ctx, blackboard.Guard{Epoch: epoch, Claim: claim, Revision: 5}, ""))
}

// TestBenchHistory compares an empty board with one that holds 100,000 artefacts.
func TestBenchHistory(t *testing.T) {
	s := redistest.Start(t)
	b := openBoard(t, s.URL)
	ctx := context.Background()
	lead, _, err := b.Leader.TakeLead(ctx, "filler", "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, b, lead.Epoch, 1000)
	few := listTime(t, b)
	fill(t, b, lead.Epoch, history-1000)
	many := listTime(t, b)
	t.Logf("hoard --limit 50: %v with 1,000 artefacts, %v with %d", few, many, history)
	verdict(t, "hoard --limit 50 with 100,000 artefacts / with 1,000", float64(many)/float64(few), 2, "x")
	if err := b.Leader.RenewLead(ctx, lead, 0); err != nil {
		t.Fatal(err)
	}

	empty := startClan(t, redistest.Start(t).URL, "cub-noop", oneAgent(t))
	full := startClan(t, s.URL, "cub-noop", oneAgent(t))
	empty.measure(t, 50)
	full.measure(t, 50)
	var e, f time.Duration
	for range 3 { // in turns, for the machine is noisy
		e += empty.measure(t, 200)
		f += full.measure(t, 200)
	}
	t.Logf("goal to result: empty board %v, 100,000 artefacts %v", e/3, f/3)
	verdict(t, "goal to result with 100,000 artefacts / empty board", float64(f)/float64(e), 1.1, "x")

	// What is measured is the start, not the wait for a dead leader's lease: this
	// one gives the lead up.
	_ = full.orchestrator.Process.Signal(syscall.SIGTERM)
	_ = full.orchestrator.Wait()
	last, err := b.Ledger.Last(ctx)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	full.startOrchestrator(t)
	waitFor(t, "the orchestrator", func() bool {
		es, err := b.Ledger.History(ctx, last, 10)
		return err == nil && len(es) > 0 && es[len(es)-1].Kind == blackboard.EventLeader
	})
	verdict(t, "restart of the orchestrator with 100,000 artefacts", time.Since(began).Seconds(), 1, "s")
}

func listTime(tb testing.TB, b *redis.Board) time.Duration {
	tb.Helper()
	all := make([]time.Duration, 200)
	for i := range all {
		began := time.Now()
		list, err := b.Records.ListArtefacts(context.Background(), blackboard.Filter{Limit: 50})
		if err != nil || len(list) != 50 {
			tb.Fatalf("%d artefacts, %v", len(list), err)
		}
		all[i] = time.Since(began)
	}
	return median(all)
}

// TestBenchMemory asks Redis what the keys of an artefact of 600 bytes cost, in a
// workflow of the shape that clans make: a goal, two versions with two Reviews
// each, two results and a Terminal, most of them made from the versions.
func TestBenchMemory(t *testing.T) {
	s := redistest.Start(t)
	b := openBoard(t, s.URL)
	raw := openRaw(t, s.URL)
	ctx := context.Background()
	lead, _, err := b.Leader.TakeLead(ctx, "x", "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, b, lead.Epoch, 20_000) // so that indexes have the size at which they cost most
	ids := clanWorkflow(t, b, lead.Epoch)
	size := func(key string) float64 {
		n, _ := strconv.ParseFloat(raw("MEMORY", "USAGE", key, "SAMPLES", "0"), 64)
		return n
	}
	p := "sett:{bench}:"
	per := func(key, count string) float64 { // a member's share of an index
		n, _ := strconv.ParseFloat(raw(count, key), 64)
		return size(key) / n
	}
	parts := map[string]float64{}
	for _, id := range ids {
		parts["hash"] += size(p + "artifact:" + id)
		parts["edges"] += size(p + "artifact:" + id + ":children")
		parts["ids"] += per(p+"endings:"+id[24:], "LLEN")
		parts["artefacts"] += per(p+"artefacts", "LLEN")
		parts["by type"] += per(p+"artefacts:type:Old", "LLEN")
		parts["by agent"] += per(p+"artefacts:agent:old", "LLEN")
		parts["by workflow"] += per(p+"artefacts:workflow:"+ids[0], "LLEN")
	}
	total := 0.0
	for _, what := range []string{"hash", "edges", "ids", "artefacts", "by type", "by agent", "by workflow"} {
		t.Logf("%-12s %6.0f bytes", what, parts[what]/float64(len(ids)))
		total += parts[what] / float64(len(ids))
	}
	verdict(t, "Redis memory per artefact of 600 bytes", total, 1300, "bytes")
}

// clanWorkflow makes a workflow by posting its results straight from grants, and
// returns the ids of its artefacts.
func clanWorkflow(tb testing.TB, b *redis.Board, epoch string) []string {
	tb.Helper()
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	g := goal(strings.Repeat("x", 300))
	must(b.People.PostGoal(ctx, g, "ann"))
	ids := []string{g.ID}
	// result makes an artefact on a claim about source, by one agent of its own.
	result := func(source, logical string, st blackboard.StructuralType, more ...string) string {
		claim := blackboard.BiddingClaimID(source)
		agent := fmt.Sprintf("old%d", len(ids))
		_, err := b.Cub.Start(ctx, blackboard.StartRequest{Claim: claim, Agent: agent, Holder: "h"})
		must(err)
		id := blackboard.NewID(time.Now(), rand.Reader)
		must(b.Cub.Finish(ctx, blackboard.Result{GrantRef: blackboard.GrantRef{Claim: claim, Agent: agent, Attempt: 1, Holder: "h"},
			Artefact: blackboard.Artefact{ID: id, LogicalID: logical, StructuralType: st, Type: "Old", Payload: strings.Repeat("x", 280),
				SourceArtefacts: append([]string{source}, more...), ProducedByAgent: agent, ProducedByRole: "old",
				ClaimID: claim, WorkflowID: g.ID}}))
		ids = append(ids, id)
		return id
	}
	open := func(source string, agents int) {
		claim := blackboard.BiddingClaimID(source)
		_, _, err := b.Leader.OpenClaim(ctx, epoch, source, nil, 0)
		must(err)
		var names []string
		for i := range agents {
			names = append(names, fmt.Sprintf("old%d", len(ids)+i))
		}
		must(b.Leader.GrantPhase(ctx, blackboard.Guard{Epoch: epoch, Claim: claim, Revision: 1}, blackboard.PhaseParallel, names))
	}
	open(g.ID, 1)
	v1 := result(g.ID, "", blackboard.Standard)
	open(v1, 3)
	review := result(v1, "", blackboard.Review)
	result(v1, "", blackboard.Review)
	v2 := result(v1, v1, blackboard.Standard, review)
	open(v2, 5)
	result(v2, "", blackboard.Review)
	result(v2, "", blackboard.Review)
	result(v2, "", blackboard.Standard)
	result(v2, "", blackboard.Standard)
	result(v2, "", blackboard.Terminal, g.ID)
	return ids
}

// TestBenchIdle watches processes that have nothing to do.
func TestBenchIdle(t *testing.T) {
	s := redistest.Start(t)
	c := startClan(t, s.URL, "cub", fiveAgents(t))
	c.measure(t, 5)
	pids := map[string]int{"orchestrator": c.orchestrator.Process.Pid}
	for i, cub := range c.cubs {
		pids[fmt.Sprintf("cub %d", i)] = cub.Process.Pid
	}
	const idle = 30 * time.Second
	before := map[string]int{}
	for name, pid := range pids {
		before[name] = cpuTicks(t, pid)
	}
	perSecond := float64(commandsSent(t, s.Addr(), idle)) / idle.Seconds() / float64(len(pids))
	verdict(t, "idle: commands per second and process", perSecond, 1, "")
	for name, pid := range pids {
		verdict(t, "idle: CPU of "+name, float64(cpuTicks(t, pid)-before[name])/idle.Seconds(), 0.5, "%")
	}
}

// commandsSent counts the commands that clients send in a span of time. Redis' own
// figures have the commands inside scripts as well, which cost no round trip.
func commandsSent(tb testing.TB, addr string, span time.Duration) (sent int) {
	tb.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(span))
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		tb.Fatal(err)
	}
	lines := bufio.NewScanner(conn)
	if !lines.Scan() || lines.Text() != "+OK" {
		tb.Fatalf("MONITOR said %q: %v", lines.Text(), lines.Err())
	}
	for lines.Scan() {
		if !strings.Contains(lines.Text(), " lua] ") {
			sent++
		}
	}
	if !errors.Is(lines.Err(), os.ErrDeadlineExceeded) {
		tb.Fatalf("MONITOR ended: %v", lines.Err())
	}
	return sent
}

// cpuTicks returns the CPU time a process has used, in hundredths of a second.
func cpuTicks(tb testing.TB, pid int) int {
	tb.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		tb.Fatal(err)
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+2:]))
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return user + system
}

// TestBenchResident measures the orchestrator's memory after 10,000 claims.
func TestBenchResident(t *testing.T) {
	c := startClan(t, redistest.Start(t).URL, "cub-noop", oneAgent(t))
	c.flood(t, 5000, 64, "x")
	verdict(t, "orchestrator resident after 10,000 claims", resident(t, c.orchestrator), 40, "MiB")
}

// TestBenchBinary builds the binary as users get it. Its start is held to a time, and to the start of an
// empty Go program: 4 ms where that takes 1.24.
func TestBenchBinary(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(empty, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sett, bare := goBuild(t, dir, "sett"), goBuild(t, dir, empty)
	info, err := os.Stat(sett)
	if err != nil {
		t.Fatal(err)
	}
	verdict(t, "stripped binary", float64(info.Size())/(1<<20), 32, "MiB")
	start := func(name string, args ...string) func() time.Duration {
		return func() time.Duration {
			began := time.Now()
			if err := exec.Command(name, args...).Run(); err != nil {
				t.Fatal(err)
			}
			return time.Since(began)
		}
	}
	took, floor := paired(101, start(sett, "version"), start(bare))
	t.Logf("sett version %v, an empty Go program %v", took, floor)
	verdict(t, "sett version", ms(took), 10, "ms")
	verdict(t, "sett version / an empty Go program", ratio(took, floor), 3.3, "x")
}

// goBuild builds a package, or a file, as users get it, and returns the program.
func goBuild(t *testing.T, dir, what string) string {
	t.Helper()
	file := filepath.Join(dir, strings.TrimSuffix(filepath.Base(what), ".go"))
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, what)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

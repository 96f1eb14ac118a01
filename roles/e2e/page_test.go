package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browsed is an instance's page in a Chromium.
type browsed struct {
	in     *instance
	ctx    context.Context
	server int           // the process that serves it
	calm   time.Duration // in which it shows a goal when nothing was struck
}

// browse starts `sett ui` and opens its page.
func browse(in *instance) *browsed {
	t := in.t
	t.Helper()
	program := ""
	for _, name := range []string{"google-chrome", "chromium-browser", "chromium"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
		}
	}
	if program == "" {
		t.Skip("no Chromium on the PATH: .ci/setup installs it")
	}
	var out lockedBuffer
	server := in.command("ui", "--no-open", "--port", "0")
	server.Stdout = &out
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	eventually(t, enough, "the page's address", func() bool { return strings.HasSuffix(out.String(), "\n") })
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("proxy-server", "direct://"))
	bounded, cancel := context.WithTimeout(context.Background(), 4*enough)
	all, cancelAll := chromedp.NewExecAllocator(bounded, options...)
	tab, cancelTab := chromedp.NewContext(all)
	t.Cleanup(func() { cancelTab(); cancelAll(); cancel() })
	b := &browsed{in: in, ctx: tab, server: server.Process.Pid}
	if err := chromedp.Do(tab, chromedp.Navigate(strings.TrimSpace(out.String()))); err != nil {
		t.Fatal(err)
	}
	b.holds("live", "document.getElementById('state')?.textContent === 'live'")
	b.value("location.hash = '#/ledger?since=all'")
	return b
}

// lockedBuffer takes the output of a process that runs.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// value is the value of an expression of JavaScript in the page, as JSON.
func (b *browsed) value(expression string) string {
	b.in.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("JSON.stringify("+expression+") ?? 'null'"))
	if err != nil {
		b.in.t.Fatal(err)
	}
	return v
}

// holds waits until an expression is true.
func (b *browsed) holds(what, expression string) {
	b.in.t.Helper()
	eventually(b.in.t, enough, what, func() bool { return b.value("Boolean("+expression+")") == "true" })
}

// newest is the number of entries that the page shows at most.
const newest = 300

// entry is an entry of the ledger, as both show it.
type entry struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
}

// shows says whether the page is live and shows what watch prints; else how it differs.
func (b *browsed) shows() (differs string) {
	b.in.t.Helper()
	code, out := b.in.sett("watch", "--since", "all", "--until", "0s", "-o", "jsonl")
	if code != 0 {
		return out
	}
	var want []entry
	for line := range strings.Lines(out) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			b.in.t.Fatalf("watch: %v in %q", err, line)
		}
		want = append(want, e)
	}
	var page struct {
		State, Count string
		Rows         []entry
	}
	got := b.value("{state: document.getElementById('state').textContent, count: document.querySelector('main p.quiet')?.textContent, " +
		"rows: [...document.querySelectorAll('main tbody tr')].map((r) => ({id: r.settKey, kind: r.children[1].textContent}))}")
	if err := json.Unmarshal([]byte(got), &page); err != nil {
		b.in.t.Fatal(err)
	}
	total := len(want)
	want = want[max(0, total-newest):]
	slices.Reverse(want)
	if page.State != "live" || !strings.HasPrefix(page.Count, fmt.Sprintf("%d entries", total)) || !slices.Equal(page.Rows, want) {
		return fmt.Sprintf("it is %q and shows %q, of %d entries\n%v\nwatch prints\n%v", page.State, page.Count, total, page.Rows, want)
	}
	return ""
}

// recovery is the time in which the page comes back, once the board and a leader have. On a machine
// where it is slow without a strike, it may be slower.
func (b *browsed) recovery() time.Duration { return max(3*time.Second, 6*b.calm) }

// through strikes the instance, and has a goal go through afterwards. The page comes back by itself.
// A loaded machine may be late, so it is in time once of several tries.
func (b *browsed) through(what string, strike func()) {
	b.in.t.Helper()
	const tries = 3
	var took []time.Duration
	for range tries {
		strike()
		eventually(b.in.t, enough, "a blackboard and a leader after "+what, func() bool {
			l, err := b.in.board.Roster.Leader(context.Background())
			return err == nil && l.Until.After(time.Now())
		})
		began := time.Now()
		goal := b.in.post("after " + what)
		seen := time.Duration(0)
		eventually(b.in.t, enough, "the goal on the page after "+what, func() bool {
			ok := b.value(fmt.Sprintf("document.getElementById('state').textContent === 'live' && document.getElementById('main').innerText.includes(%q)", goal[len(goal)-8:])) == "true"
			seen = time.Since(began)
			return ok
		})
		b.in.await(goal, enough)
		differs := ""
		for since := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			if differs = b.shows(); differs == "" {
				break
			}
			if time.Since(since) > enough {
				b.in.t.Fatalf("after %s %s", what, differs)
			}
		}
		if took = append(took, seen); seen <= b.recovery() {
			b.calm = cmp.Or(b.calm, seen)
			b.in.t.Logf("%s: the page is back after %s", what, took)
			return
		}
	}
	b.in.t.Errorf("after %s the page came back in %s, and not within %s", what, took, b.recovery())
}

// standby starts a second orchestrator beside the instance's, as another machine would.
func (in *instance) standby() *exec.Cmd {
	in.t.Helper()
	proc := filepath.Join("/proc", strconv.Itoa(in.pid("orchestrator")))
	environ, err := os.ReadFile(filepath.Join(proc, "environ"))
	if err != nil {
		in.t.Fatal(err)
	}
	cmd := exec.Command(binary, "orchestrator")
	cmd.Dir, _ = os.Readlink(filepath.Join(proc, "cwd"))
	for v := range strings.SplitSeq(strings.TrimRight(string(environ), "\x00"), "\x00") {
		if !strings.HasPrefix(v, "SETT_HEALTH_ADDR=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	var state struct { // with the secrets, which the process itself shows nobody
		URL string
		Key string `json:"repository_key"`
	}
	raw, err := os.ReadFile(filepath.Join(in.stateDir(), "instance.json"))
	if err == nil {
		err = json.Unmarshal(raw, &state)
	}
	if err != nil {
		in.t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, "REDIS_URL="+state.URL, "SETT_REPOSITORY_KEY="+state.Key, "SETT_HEALTH_ADDR=off")
	if err := cmd.Start(); err != nil {
		in.t.Fatal(err)
	}
	in.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// throughStandby has another orchestrator take over.
func (b *browsed) throughStandby() {
	in, t := b.in, b.in.t
	leader := func() string {
		l, err := in.board.Roster.Leader(t.Context())
		if err != nil {
			return ""
		}
		return l.Holder
	}
	first := leader()
	other := in.standby()
	b.through("a standby that takes over", func() {
		in.signal("orchestrator", syscall.SIGSTOP)
		eventually(t, enough, "another leader", func() bool { l := leader(); return l != "" && l != first })
	})
	in.signal("orchestrator", syscall.SIGCONT)
	if err := other.Process.Kill(); err != nil {
		t.Error(err)
	}
}

// An open page comes back by itself after kill -9 of the orchestrator and of the blackboard, a standby that
// takes the lead, and sett up with another sett; and shows what sett watch prints.
func TestPageThroughCrashes(t *testing.T) {
	t.Parallel()
	in := start(t, options{clan: reviewed(drafter, "retries: 1\n")})
	in.settled()
	b := browse(in)
	b.through("nothing", func() {})
	b.through("kill -9 of the orchestrator", func() { in.bounce("orchestrator") })
	b.through("kill -9 of the blackboard", func() { in.bounce("blackboard") })
	b.through("kill -9 of both", func() {
		old := in.pid("orchestrator")
		in.bounce("blackboard")
		in.shoot("orchestrator")
		in.restarted("orchestrator", old)
	})

	if os.Geteuid() == 0 {
		b.throughStandby()
	} else {
		t.Run("a standby that takes over", func(t *testing.T) {
			t.Skip("only root sees the orchestrator's environment, which a standby needs\nhint: sudo env PATH=\"$PATH\" make test")
		})
	}
	newer := filepath.Join(t.TempDir(), "sett")
	if out, err := exec.Command("go", append(append([]string{"build"}, buildFlags...), "-ldflags=-X main.version=newer", "-o", newer, "sett")...).CombinedOutput(); err != nil {
		t.Fatalf("build another sett: %v\n%s", err, out)
	}
	b.through("sett up with another sett", func() {
		old := in.pid("orchestrator")
		cmd := in.command("up", "--runtime", "process")
		cmd.Path = newer
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("up: %v\n%s", err, out)
		}
		in.restarted("orchestrator", old)
	})
}

// ticks is the processor's time that a process took so far.
func ticks(t testing.TB, pid int) time.Duration {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	sum := 0
	for _, f := range fields[11:13] { // of the user and of the system
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return time.Duration(sum) * 10 * time.Millisecond
}

// Ten open pages of an idle clan cost the orchestrator nothing, and their own server little: processor's
// time, which other load does not stretch much.
func TestTenPagesIdle(t *testing.T) {
	t.Parallel()
	in := start(t, options{clan: reviewed(drafter, "retries: 1\n")})
	in.settled()
	goal := in.post("x")
	in.await(goal, enough)
	b := browse(in)
	cost := func() (orchestrator, server float64) {
		const span = 12 * time.Second // more than a page's longest pause
		pid := in.pid("orchestrator")
		o, s, began := ticks(t, pid), ticks(t, b.server), time.Now()
		time.Sleep(span)
		took := time.Since(began)
		return float64(ticks(t, pid)-o) / float64(took), float64(ticks(t, b.server)-s) / float64(took)
	}
	alone, _ := cost()
	b.value("location.hash = '#/now'")
	address := strings.Trim(b.value("location.origin + '/ui/#/'"), `"`)
	var pages []*browsed
	for i := range 9 {
		tab, cancel := chromedp.NewContext(b.ctx)
		t.Cleanup(cancel)
		view := []string{"now", "goals", "show/" + goal}[i%3]
		if err := chromedp.Do(tab, chromedp.Navigate(address+view)); err != nil {
			t.Fatal(err)
		}
		page := &browsed{in: in, ctx: tab, server: b.server}
		page.holds("live", "document.getElementById('state')?.textContent === 'live' && document.querySelector('main h1')")
		pages = append(pages, page)
	}
	beside, server := cost()
	t.Logf("the orchestrator took %.1f %% of a core, and %.1f %% beside ten pages; their server %.1f %%", 100*alone, 100*beside, 100*server)
	if beside-alone > 0.02 {
		t.Errorf("ten pages cost the orchestrator %.1f %% of a core", 100*(beside-alone))
	}
	if server > 0.1 {
		t.Errorf("ten idle pages cost their server %.1f %% of a core", 100*server)
	}
	next := in.post("y")
	pages[1].holds("the next goal", fmt.Sprintf("document.getElementById('main').innerText.includes(%q)", next[len(next)-8:]))
	b.value("location.href = 'about:blank'") // it had the connection for all
	last := in.post("z")
	for i := 1; i < len(pages); i += 3 {
		pages[i].holds("the last goal, live", fmt.Sprintf("document.getElementById('state').textContent === 'live' && document.getElementById('main').innerText.includes(%q)", last[len(last)-8:]))
	}
}

package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sett/blackboard"
	"sett/blackboard/boardtest"
)

// browserTime bounds what is waited for in a browser: for hangs, on a busy machine.
const browserTime = 10 * time.Minute

// browser is a Chromium with one tab.
type browser struct {
	*stage
	ctx      context.Context
	patience context.Context // ends before ctx

	mu       sync.Mutex
	faults   []string // scripts that ran, requests elsewhere, errors of the page
	trusted  string   // where requests may go
	requests int
}

// newBrowser starts the distribution's Chromium.
func newBrowser(s *stage) *browser {
	t := s.t
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && program == "" {
			program = path
		}
	}
	if program == "" {
		t.Skip("no Chromium on the PATH: .ci/setup installs it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("proxy-server", "direct://"))
	bounded, cancel := context.WithTimeout(context.Background(), browserTime)
	patience, cancelPatience := context.WithTimeout(bounded, browserTime-10*time.Second)
	all, cancelAll := chromedp.NewExecAllocator(bounded, options...)
	tab, cancelTab := chromedp.NewContext(all)
	t.Cleanup(func() { cancelTab(); cancelAll(); cancelPatience(); cancel() })
	b := &browser{stage: s, ctx: tab, patience: patience}
	s.Must(chromedp.Listen(tab, b.listen))
	return b
}

// listen notes a request that leaves, a script that ran, and each fault of the page.
func (b *browser) listen(event any) {
	fault := ""
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *page.EventJavascriptDialogOpening:
		fault = "a script ran: " + e.Message
	case *runtime.EventExceptionThrown:
		fault = fmt.Sprintf("an exception: %+v", e.ExceptionDetails)
	case *log.EventEntryAdded:
		if text := e.Entry.Text; strings.Contains(text, "Content Security Policy") || strings.Contains(text, "Trusted") {
			fault = "the policy was met: " + text
		}
	case *network.EventRequestWillBeSent:
		b.requests++
		if at := e.Request.URL; b.trusted != "" && !strings.HasPrefix(at, b.trusted) && !strings.HasPrefix(at, "data:") {
			fault = "a request left: " + at
		}
	}
	if fault != "" {
		b.faults = append(b.faults, fault)
	}
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	b.Must(chromedp.Do(b.ctx, actions...))
}

// value is the value of an expression of JavaScript in the page.
func value[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	b.Must(err)
	return v
}

// sees waits until an expression of JavaScript holds in the page.
func (b *browser) sees(what, expression string) {
	b.t.Helper()
	for !value[bool](b, "Boolean("+expression+")") {
		select {
		case <-b.ctx.Done():
			b.t.Fatalf("not seen: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
		if b.patience.Err() != nil {
			b.t.Fatalf("not seen: %s\n%s", what, value[string](b, "document.body.innerText"))
		}
	}
}

// says waits for a text in the view.
func (b *browser) says(text string) {
	b.t.Helper()
	b.sees(text, fmt.Sprintf("document.getElementById('main').innerText.includes(%q)", text))
}

// goes shows another view.
func (b *browser) goes(to string) {
	b.t.Helper()
	value[string](b, fmt.Sprintf("location.hash = '#/' + %q", to))
}

// look is a view as it is laid out.
type look struct {
	Wide  float64 `json:"wide"` // pixels that the view is too wide
	Ink   string  `json:"ink"`
	Paper string  `json:"paper"`
}

// looks shows each view in all sizes, light and dark.
func (b *browser) looks(name string) {
	b.t.Helper()
	keep := flag.Lookup("test.artifacts")
	for _, width := range []int64{360, 1280, 2560} {
		for _, scheme := range []string{"light", "dark"} {
			_, err := chromedp.Run(b.ctx, chromedp.EmulateViewport(width, 900))
			b.Must(err)
			_, err = chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
			b.Must(err)
			got := value[look](b, "({wide: document.documentElement.scrollWidth - innerWidth, ink: getComputedStyle(document.body).color, paper: getComputedStyle(document.body).backgroundColor})")
			if got.Wide > 1 {
				b.t.Errorf("%s at %d px is %v px too wide", name, width, got.Wide)
			}
			if light := got.Paper == "rgb(255, 255, 255)"; light != (scheme == "light") || got.Ink == got.Paper {
				b.t.Errorf("%s in %s: %s on %s", name, scheme, got.Ink, got.Paper)
			}
			if width == 360 && scheme == "light" { // here most parts have to be scrolled
				b.heard(name)
			}
			if keep != nil && keep.Value.String() == "true" {
				picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
				b.Must(err)
				b.Must(os.WriteFile(filepath.Join(b.t.ArtifactDir(), fmt.Sprintf("%s-%d-%s.png", name, width, scheme)), picture, 0o644))
			}
		}
	}
}

// hostile is a text that would do harm where it became markup.
const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script><svg onload=alert(3)></svg><a href="javascript:alert(4)">x</a><style>*{background:url(http://127.0.0.2:9/)}</style>`

// The page in a browser: every view in three sizes, light and dark; hostile texts in every
// place; acting and moving with the keyboard alone; and coming back after its server was away.
func TestPageInBrowser(t *testing.T) {
	s := newStage(t)
	b := newBrowser(s)
	s.by("anna")
	ids := s.tell()
	s.logged()
	s.write("sett.yml", "runtime: process\nagents:\n  writer: {command: [x], adapter: text, makes: [Draft], bids: {GoalDefined: exclusive}}\n  lint: {command: [x], adapter: check, bids: {Draft: review}}\n")
	s.Must(s.board.Leader.Enact(t.Context(), s.Epoch, []string{"Release"}, ""))
	bad := s.Goal(hostile + "\nשלום עולם, Grüße")
	claim, draft := s.work(bad, blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Note", Payload: hostile + "\n\x1b[2J\u202Eevil", Summary: hostile, Metadata: []byte(`{"commit":"<img src=x onerror=alert(5)>"}`)})
	s.Complete(claim)
	_, held := s.work(s.Goal("release it"), blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Release", Payload: hostile, Summary: hostile})

	base := s.commitFile("song", "one\ntwo\nthree\n")
	sung, _ := s.brought(base, s.aside("song", "one\nTWO\nthree\n"))

	p := s.start("ui", "--no-open", "--port", "0")
	s.Until("the page's address", func() bool { return strings.HasSuffix(p.out.String(), "\n") })
	address := strings.TrimSpace(p.out.String())
	b.trusted, _, _ = strings.Cut(address, "ui/")
	b.do(chromedp.Navigate(address))
	b.says("Which one:")
	b.says("<script>alert(2)</script>")
	b.sees("it is live", "document.getElementById('state').textContent === 'live'")
	const proofs = "performance.getEntriesByType('resource').filter((e) => e.name.includes('/ui/proof')).length"
	if n := value[int](b, proofs); n != 0 {
		t.Errorf("the server of a fresh page was asked for %d proofs", n)
	}
	b.sees("the address keeps no key", "!location.href.includes('key') && !location.href.includes('token')")
	b.looks("now")
	for _, v := range []struct{ name, to, says string }{
		{"goals", "goals", "write a page"}, {"failed-goals", "goals?status=failed", "try the impossible"}, {"goal-timeline", "show/" + ids["goal"], "write a page"},
		{"goal-graph", "show/" + ids["goal"] + "?tab=graph", "write a page"}, {"goal-result", "show/" + ids["goal"] + "?tab=result", "it is done"},
		{"goal-story", "show/" + ids["goal"] + "?tab=story", "feedback"}, {"goal-ledger", "show/" + ids["goal"] + "?tab=ledger", "Replay"},
		{"hostile-goal", "show/" + bad + "?tab=story", "alert(3)"}, {"hostile-artefact", "show/" + draft, `\u202eevil`}, {"failure", "show/" + ids["failure"], "no way"},
		{"claim", "show/" + ids["rework"], "Claim on Draft"}, {"clan", "clan", "The clan"}, {"ledger", "ledger?since=all", "entries"},
	} {
		b.goes(v.to)
		b.says(v.says)
		b.sees("the focus in "+v.name, "document.activeElement.id === 'main'")
		if strings.HasSuffix(v.name, "timeline") || strings.HasSuffix(v.name, "graph") || v.name == "clan" {
			b.sees("a picture", "document.querySelectorAll('figure svg rect').length > 1")
		}
		if v.name == "clan" {
			b.says("ToolExecutionFailure 1")
			b.sees("a whole count on the picture", "document.querySelector('figure svg').textContent.includes('1 failed, 1 asked')")
			b.sees("the count on the picture", "document.querySelector('figure svg').textContent.includes('1.5s each')")
		}
		b.looks(v.name)
	}
	if whole := value[string](b, "performance.getEntriesByType('resource').map((e) => e.name).filter((n) => n.includes('/report/') && !/only=|output=/.test(n)).join(' ')"); whole != "" {
		t.Errorf("a part of a goal reads the whole report: %s", whole)
	}
	b.goes("goals?status=failed")
	b.sees("the chosen status", "document.querySelector('#f-status')?.selectedOptions[0].textContent === 'failed'")
	value[bool](b, "(() => { const e = document.querySelector('#f-status'); e.selectedIndex = 0; e.dispatchEvent(new Event('change')); return true; })()")
	b.sees("all goals", "location.hash === '#/goals' && document.querySelector('#f-status').selectedOptions[0].textContent === 'all'")
	b.says("write a page")
	b.goes("ledger?since=all")
	b.says("entries")
	b.sees("names and ids in one line", "[...document.querySelectorAll('tbody tr')].every((r) => [2, 3].every((i) => r.children[i].getClientRects().length === 1 && [...r.children[i].querySelectorAll('a, bdi')].every((e) => e.getClientRects().length === 1)))")
	b.blames(sung)
	b.byKeys(ids["question"], held)

	b.goes("goals")
	b.says("write a page")
	p.stop()
	s.Must(p.wait())
	b.sees("it says that it is old", "document.getElementById('state').className === 'old'")
	b.rogue(strings.TrimSuffix(strings.TrimPrefix(b.trusted, "http://"), "/"))
	p = s.start("ui", "--no-open")
	goal := s.Goal("posted meanwhile")
	b.sees("it is live again", "document.getElementById('state').textContent === 'live'")
	b.says("posted meanwhile")
	b.sees("the server that came back was asked for a proof", proofs+" > 0")
	b.goes("show/" + goal)
	b.says("Cancel the goal")
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, fault := range b.faults {
		t.Error(fault)
	}
}

// blames asks who wrote lines of a goal's changes: with a click, and with keys.
func (b *browser) blames(goal string) {
	b.t.Helper()
	b.goes("show/" + goal + "?tab=result")
	b.says("Commits")
	b.heard("commits")
	b.do(chromedp.Click("details:has(.diff) summary"), chromedp.Click(`.diff [data-line="1"]`))
	b.sees("a person wrote it", "document.getElementById('dialog').innerText.includes('t wrote line 1 of song')")
	b.press("Escape", 0)
	b.do(chromedp.Focus(".diff"), chromedp.KeyEvent(kb.ArrowDown+kb.ArrowDown+kb.Enter))
	b.sees("the agent wrote it", "document.getElementById('dialog').innerText.includes('writer wrote line 2 of song') && document.getElementById('dialog').innerText.includes('change it')")
	b.heard("who wrote a line")
	b.press("Escape", 0)
	b.sees("no dialog", "!document.getElementById('dialog').open")
}

// The file that the desktop opens leads a browser to the page, and goes.
func TestPageThroughItsFile(t *testing.T) {
	s := newStage(t)
	b := newBrowser(s)
	_, file := s.byFile()
	text, err := os.ReadFile(file)
	s.Must(err)
	_, b.trusted, _ = strings.Cut(string(text), "url=")
	b.trusted, _, _ = strings.Cut(b.trusted, "ui/")
	if err := chromedp.Do(b.ctx, chromedp.Navigate("file://"+file)); err != nil && !strings.Contains(err.Error(), "navigated or closed") { // the file may have led on already
		t.Fatal(err)
	}
	b.sees("it is live", "document.getElementById('state')?.textContent === 'live'")
	s.Until("the file is gone", func() bool { _, err := os.Stat(file); return os.IsNotExist(err) })
}

// An import while the page is open brings entries of before, and moves those that were there: the
// page shows the ledger that there is then.
func TestPageAfterImport(t *testing.T) {
	s := newStage(t)
	b := newBrowser(s)
	goal := s.Goal("brought along")
	exported, _, err := s.run("ledger", "export")
	s.Must(err)
	name := s.imports([]byte(exported))
	boardtest.Open(t, s.Server, name).Lead() // an entry later than those of the export
	p := s.start("--name", name, "ui", "--no-open", "--port", "0")
	s.Until("the page's address", func() bool { return strings.HasSuffix(p.out.String(), "\n") })
	b.do(chromedp.Navigate(strings.TrimSpace(p.out.String())))
	b.sees("it is live", "document.getElementById('state').textContent === 'live'")
	b.goes("ledger?since=all")
	b.says("leader")
	_, _, err = s.run("--name", name, "ledger", "import", filepath.Join(s.home, "forged.jsonl"))
	s.Must(err)
	watched, _, err := s.run("--name", name, "watch", "--since", "all", "--until", "0s", "-o", "jsonl")
	s.Must(err)
	has(t, watched, goal)
	b.says(fmt.Sprintf("\n%d entries", strings.Count(watched, "\n")))
	b.says(goal[len(goal)-8:])
}

// rogue takes the port of the server that has ended. The page sees that it is another, and
// does not tell it the key.
func (b *browser) rogue(address string) {
	b.t.Helper()
	l, err := net.Listen("tcp", address)
	b.Must(err)
	var asked, told atomic.Int32
	server := &http.Server{ReadHeaderTimeout: browserTime, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("Authorization") != "" {
			told.Add(1)
		}
		_, _ = io.WriteString(w, "{}")
	})}
	go func() { _ = server.Serve(l) }()
	b.sees("it knows that another is there", "document.getElementById('state').textContent.includes('another program')")
	b.Must(server.Close())
	if asked.Load() == 0 || told.Load() > 0 {
		b.t.Errorf("another program was asked %d times, and got the key %d times", asked.Load(), told.Load())
	}
}

// press presses a key, as a keyboard does: the page may keep it from being typed.
func (b *browser) press(name string, modifiers int64) {
	b.t.Helper()
	p := input.DispatchKeyEventParams{Type: "keyDown", Key: name, Modifiers: modifiers}
	switch name {
	case "Enter":
		p.Code, p.WindowsVirtualKeyCode, p.Text = name, 13, "\r"
	case "Escape":
		p.Code, p.WindowsVirtualKeyCode = name, 27
	default:
		p.Text = name
	}
	_, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, p)
	b.Must(err)
	p.Type, p.Text = "keyUp", ""
	_, err = chromedp.Call(b.ctx, input.DispatchKeyEvent, p)
	b.Must(err)
}

// byKeys answers and approves with the keyboard alone, and looks at the list of keys.
func (b *browser) byKeys(question, held string) {
	b.t.Helper()
	key := func(name string) { b.t.Helper(); b.press(name, 0) }
	value[bool](b, "document.activeElement.blur() || true")
	key("?")
	b.sees("the keys", "document.getElementById('dialog').open")
	b.heard("the list of keys")
	key("Escape")
	b.sees("no dialog", "!document.getElementById('dialog').open")
	key("g")
	key("n")
	b.says("Which one:")
	key("a")
	b.sees("the answer's place", "document.activeElement.localName === 'textarea'")
	b.do(chromedp.KeyEvent("The red one."))
	b.press("Enter", 2) // with Ctrl
	b.sees("it is answered", "!document.getElementById('main').innerText.includes('Which one:')")
	open, err := b.board.Index.OpenQuestions(b.t.Context())
	b.Must(err)
	if len(open) != 0 {
		b.t.Errorf("%q are open", open)
	}
	answers, err := b.board.Index.Children(b.t.Context(), question)
	b.Must(err)
	if len(answers) != 1 {
		b.t.Fatalf("answers %q", answers)
	}
	if a, err := b.board.Records.Artefact(b.t.Context(), answers[0]); err != nil || a.Payload != "The red one." || blackboard.PersonOf(a) != "anna" {
		b.t.Errorf("answer %+v, %v", a, err)
	}
	b.do(chromedp.DoubleClick("#main button.do"))
	b.sees("it asks first", "document.querySelector('#dialog[open] .do:enabled')")
	b.sees("what it asks about", "/^\\S+ of .+, goal: ./.test(document.querySelector('#dialog .about').textContent)")
	if reviews, err := b.board.Index.Children(b.t.Context(), held); err != nil || len(reviews) != 0 {
		b.t.Errorf("it was not agreed to: reviews %q, %v", reviews, err)
	}
	b.heard("approve")
	b.do(chromedp.DoubleClick("#dialog .do"))
	b.sees("it is approved", "document.getElementById('main').innerText.includes('nobody asks, and nothing waits for approval')")
	reviews, err := b.board.Index.Children(b.t.Context(), held)
	b.Must(err)
	if len(reviews) != 1 {
		b.t.Errorf("reviews %q", reviews)
	}
	key("g")
	key("g")
	b.says("write a page")
	key("j")
	key("j")
	b.sees("a row", "document.activeElement.matches('tr[data-row]')")
	key("Enter")
	b.sees("its goal", "location.hash.startsWith('#/show/')")
	b.says("story")
	key("4")
	b.sees("its story", "location.hash.endsWith('tab=story')")
	key("/")
	key("g")
	key("l")
	b.says("Ledger")
}

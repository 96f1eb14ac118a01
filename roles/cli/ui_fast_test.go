package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"sett/blackboard"
)

// large plays a goal of so many artefacts: each is reviewed, and two agents make something of it.
func (s *stage) large(many int) (goal string) {
	s.t.Helper()
	goal = s.Goal("a large goal")
	for open, made := []string{goal}, 1; made < many; made += 3 {
		claim := s.Open(open[0], s.config.Names()...)
		open = open[1:]
		s.Bid(claim, blackboard.BidRequest{Agent: "lint", Bid: blackboard.BidReview}, blackboard.BidRequest{Agent: "writer", Bid: blackboard.BidClaim}, blackboard.BidRequest{Agent: "many", Bid: blackboard.BidClaim})
		s.Grant(claim, blackboard.PhaseReview, "lint")
		s.begin(claim, "lint")
		s.Finish(claim, "lint", blackboard.Artefact{StructuralType: blackboard.Review, Type: "Review", Payload: "{}", Summary: "reads well"})
		s.Grant(claim, blackboard.PhaseParallel, "writer", "many")
		for _, agent := range []string{"writer", "many"} {
			s.begin(claim, agent)
			open = append(open, s.Finish(claim, agent, blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Draft", Payload: "some text\n", Summary: "a draft of a part"}))
		}
		s.Complete(claim)
	}
	return goal
}

// floor reads all records and entries of a goal, and makes nothing of them.
func (s *stage) floor(goal string) {
	s.t.Helper()
	ids, err := s.board.Index.WorkflowArtefacts(s.t.Context(), goal)
	s.Must(err)
	_, _, err = s.board.Records.OutlinesWithTexts(s.t.Context(), ids, 4<<10)
	s.Must(err)
	claims, err := s.board.Index.WorkflowClaims(s.t.Context(), goal)
	s.Must(err)
	_, _, err = s.board.Records.Snapshots(s.t.Context(), claims)
	s.Must(err)
	for from := blackboard.Beginning; ; {
		page, err := s.board.Ledger.History(s.t.Context(), from, historyPage)
		s.Must(err)
		if len(page) < historyPage {
			return
		}
		from = page[len(page)-1].ID
	}
}

// painted are times in milliseconds after a view was asked for.
type painted struct{ State, Picture float64 }

func (p painted) state() time.Duration   { return time.Duration(p.State * float64(time.Millisecond)) }
func (p painted) picture() time.Duration { return time.Duration(p.Picture * float64(time.Millisecond)) }

// paints shows a goal, and says when its state and its picture were painted.
func (b *browser) paints(to string) (p painted) {
	b.t.Helper()
	b.goes("goals")
	b.sees("the goals", "document.querySelector('h1')?.textContent === 'Goals' && document.querySelector('tbody tr')")
	const watch = `new Promise((done) => {
		const begun = performance.now(), at = {};
		const painted = (name) => requestAnimationFrame(() => setTimeout(() => {
			at[name] = performance.now() - begun;
			if (at.State && at.Picture) done(JSON.stringify(at));
		}, 0));
		new MutationObserver((_, o) => {
			const main = document.getElementById('main');
			if (!at.state && main.querySelector('nav.tabs')) painted('State', at.state = 1);
			if (main.querySelector('figure svg rect')) {
				o.disconnect();
				painted('Picture');
			}
		}).observe(document.getElementById('main'), { childList: true, subtree: true });
		location.hash = '#/%s';
	})`
	got, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](fmt.Sprintf(watch, to), chromedp.EvalAwaitPromise))
	b.Must(err)
	b.Must(json.Unmarshal([]byte(got), &p))
	return p
}

// least is the shortest of some times.
func least(times int, do func()) time.Duration {
	var all []time.Duration
	for range times {
		began := time.Now()
		do()
		all = append(all, time.Since(began))
	}
	return slices.Min(all)
}

// nowPainted is when Now, as it is read, was first painted after a reload, and when a bare file of the same server is.
func (b *browser) nowPainted() (now, bare time.Duration) {
	b.t.Helper()
	first := func() time.Duration {
		b.sees("a paint", "performance.getEntriesByName('first-contentful-paint').length")
		return time.Duration(value[float64](b, "performance.getEntriesByName('first-contentful-paint')[0].startTime") * float64(time.Millisecond))
	}
	at := value[string](b, "location.origin")
	b.do(chromedp.Navigate(at + "/ui/app.css"))
	bare = first()
	b.do(chromedp.Navigate(at + "/ui/"))
	b.sees("Now", "window.settNow")
	return time.Duration(value[float64](b, "window.settNow") * float64(time.Millisecond)), bare
}

// onNow notes in each new document when Now has its values.
const onNow = `new MutationObserver((_, o) => {
	if (!document.querySelector('#main section')) return;
	o.disconnect();
	requestAnimationFrame(() => setTimeout(() => { window.settNow = performance.now(); }, 0));
}).observe(document, { childList: true, subtree: true })`

// The page paints a goal of 2,000 artefacts about as fast as its records can be read, its state
// before its picture, and Now about as fast as a bare file. Each is a ratio to a floor in the same
// seconds, the best of several: other load is on both.
func TestPageIsFast(t *testing.T) {
	s := newStage(t)
	b := newBrowser(s)
	goal := s.large(2000)
	p := s.start("ui", "--no-open", "--port", "0")
	s.Until("the page's address", func() bool { return strings.HasSuffix(p.out.String(), "\n") })
	b.do(chromedp.Navigate(strings.TrimSpace(p.out.String())))
	b.sees("it is live", "document.getElementById('state').textContent === 'live'")
	best := map[string]float64{}
	note := func(what string, took, floor time.Duration) {
		ratio := float64(took) / float64(floor)
		if was, ok := best[what]; !ok || ratio < was {
			best[what] = ratio
		}
		t.Logf("%s: %s, %.2f of %s", what, took.Round(time.Millisecond), ratio, floor.Round(time.Millisecond))
	}
	run := func(args ...string) time.Duration {
		return least(3, func() { _, _, err := s.run(args...); s.Must(err) })
	}
	for range 4 {
		floor := least(3, func() { s.floor(goal) })
		report := run("report", goal, "-o", "timeline")
		note("a report's timeline", report, floor)
		note("a goal's state", run("show", goal, "--no-claims", "-o", "json"), floor)
		for _, tab := range []string{"", "?tab=graph"} {
			on := b.paints("show/" + goal + tab)
			note("the state on the page", on.state(), report)
			note("the picture on the page", on.picture(), report)
		}
	}
	_, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: onNow})
	s.Must(err)
	for range 5 {
		now, bare := b.nowPainted()
		note("Now", now, bare)
	}
	// Twice the ratios of a quiet machine and more: a browser pays more for a busy one than the floor does.
	for what, most := range map[string]float64{"a report's timeline": 5, "a goal's state": 0.6, "the state on the page": 2, "the picture on the page": 6, "Now": 16} {
		t.Logf("%s takes at best %.2f times as long as its floor, of %.2f", what, best[what], most)
		if best[what] > most {
			t.Errorf("%s takes at best %.2f times as long as its floor, want %.2f", what, best[what], most)
		}
	}
}

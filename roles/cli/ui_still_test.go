package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"sett/blackboard"
)

// movedParts notes each part of the page that moved, though nobody typed or clicked.
const movedParts = `(() => {
	window.settMoved = [];
	new PerformanceObserver((list) => {
		for (const e of list.getEntries()) for (const s of e.sources) settMoved.push(location.hash + ': ' + s.node?.nodeName + ' ' + (s.node?.textContent || '').slice(0, 40)
			+ ' from ' + Math.round(s.previousRect.x) + ',' + Math.round(s.previousRect.y) + ' to ' + Math.round(s.currentRect.x) + ',' + Math.round(s.currentRect.y));
	}).observe({ type: 'layout-shift' });
	const real = Date.now;
	let later = 0, since = 0;
	Date.now = () => real() + later;
	window.settNow = () => { later = since = 0; };
	window.settLater = () => { // again after some seconds: what was read meanwhile is as of the later time
		if (since && real() - since < 5000) return;
		since = real();
		later += (3 * 3600 + 25 * 60) * 1000;
	};
	return true;
})()`

// Times go on, and views are changed: nothing else moves. A text that is being typed keeps the focus when the
// question above it is answered by somebody else.
func TestPageStandsStill(t *testing.T) {
	s := newStage(t)
	b := newBrowser(s)
	s.staff()
	s.by("anna")
	var asked []string
	for _, text := range []string{"Which colour?", "Which size?"} {
		_, question := s.work(s.Goal("paint it"), blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: text})
		asked = append(asked, question)
	}
	bids := s.all("lint", blackboard.BidExclusive)
	bids[0].Reason = "it is not about a draft"
	running := s.open(s.Goal("run for long"), bids...)
	s.Grant(running, blackboard.PhaseExclusive, "lint")
	s.begin(running, "lint")

	p := s.start("ui", "--no-open", "--port", "0")
	s.Until("the page's address", func() bool { return strings.HasSuffix(p.out.String(), "\n") })
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(strings.TrimSpace(p.out.String())))
	b.says("Which size?")
	value[bool](b, movedParts)
	for _, v := range []struct{ to, says string }{{"goals", "run for long"}, {"now", "Which size?"}} {
		b.goes(v.to)
		b.says(v.says)
		const long = "[...document.querySelectorAll('#main [data-age]')].some((e) => /^[0-9]+h/.test(e.textContent))"
		b.sees("an age of hours", "(settLater(), "+long+")")
		b.sees("an age of seconds", "(settNow(), !"+long+")")
	}
	b.sees("how long the agent may take", `/ for [0-9]+s of [0-9]+[ms]/.test([...document.querySelectorAll("[aria-label=agents] tr")].find((r) => r.textContent.startsWith("lint")).textContent)`)
	if moved := value[string](b, "settMoved.join('\\n')"); moved != "" {
		t.Errorf("moved:\n%s", moved)
	}

	b.goes("show/" + running)
	b.says("it is not about a draft")
	b.goes("now")
	b.says("Which size?")
	field := "t-answer" + asked[1]
	b.do(chromedp.Focus("#"+field), chromedp.KeyEvent("as large as"))
	_, _, err := s.run("answer", asked[0], "red")
	s.Must(err)
	b.sees("one question", "document.querySelectorAll('#main .ask').length === 1")
	b.do(chromedp.KeyEvent(" a house"))
	b.sees("what was typed", fmt.Sprintf("document.activeElement.id === %q && document.activeElement.value === 'as large as a house'", field))

	_, _, err = s.run("answer", asked[1], "small")
	s.Must(err)
	b.says("anna answered it: small")
	b.sees("the words that were not sent", "document.querySelector('[aria-label=\"not sent\"]').textContent.includes('as large as a house')")
	b.goes("show/" + asked[1])
	b.says("as large as a house")
	b.do(chromedp.Click("[aria-label='not sent'] button"))
	b.sees("no such words", "!document.querySelector('[aria-label=\"not sent\"]')")
	b.goes("now")
	b.says("nobody asks")
	b.sees("no such words", "!document.querySelector('[aria-label=\"not sent\"]')")
}

package cli

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// pageOf opens the page in a browser.
func (b *browser) pageOf() *call {
	b.t.Helper()
	p := b.start("ui", "--no-open", "--port", "0")
	b.Until("the page's address", func() bool { return strings.HasSuffix(p.out.String(), "\n") })
	b.do(chromedp.Navigate(strings.TrimSpace(p.out.String())))
	b.sees("it is live", "document.getElementById('state').textContent === 'live'")
	return p
}

// A view that cannot be read says so, also where nobody knows what to do about it, and over another one that was shown.
func TestPageSaysWhatFailed(t *testing.T) {
	s := newStage(t)
	b := newBrowser(s)
	one, two := s.Goal("the first one"), s.Goal("the second one")
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, fault := range b.faults {
			t.Error(fault)
		}
	}()
	p := b.pageOf()
	b.goes("show/%E0%A4%A")
	b.says("It cannot be shown")
	b.goes("show/" + one)
	b.says("Cancel the goal")
	p.stop()
	s.Must(p.wait())
	b.goes("show/" + two)
	b.says("It cannot be shown")
	b.says("the page’s server does not answer")
}

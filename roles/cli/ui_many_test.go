package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sett/blackboard"
)

// The page of an instance without a goal, and of fifty goals at once that are posted while it is
// open; cancelling and trying again with the keyboard alone.
func TestPageOfNoneAndFifty(t *testing.T) {
	s := newStage(t)
	b := newBrowser(s)
	s.by("anna")
	p := s.start("ui", "--no-open", "--port", "0")
	s.Until("the page's address", func() bool { return strings.HasSuffix(p.out.String(), "\n") })
	address := strings.TrimSpace(p.out.String())
	b.trusted, _, _ = strings.Cut(address, "ui/")
	b.do(chromedp.Navigate(address))
	b.sees("it is live", "document.getElementById('state').textContent === 'live'")
	for _, v := range []struct{ to, says string }{
		{"now", "nobody asks, and nothing waits for approval"}, {"goals", "no goals"}, {"clan", "The clan"}, {"ledger?since=all", "leader"},
	} {
		b.goes(v.to)
		b.says(v.says)
		b.looks("empty-" + strings.TrimSuffix(v.to, "?since=all"))
	}
	ids := s.tell()
	b.goes("goals")
	var all []string
	for i := range 50 {
		all = append(all, s.Goal(fmt.Sprintf("part %d of fifty", i)))
	}
	b.says("part 49 of fifty")
	b.sees("fifty goals", "document.querySelectorAll('#main tbody tr').length === 50")
	b.says("there are older ones")
	b.looks("fifty-goals")
	b.goes("now")
	b.says("Which one:")
	b.looks("fifty-now")

	b.decides(all[7], "Cancel the goal", "it is not needed", blackboard.EventCancel)
	b.decides(ids["failed"], "Retry", "the disk has room again", blackboard.EventRetry)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, fault := range b.faults {
		t.Error(fault)
	}
}

// decides presses a button of a goal, says why, and confirms, with the keyboard alone. The ledger has it
// with the person's name.
func (b *browser) decides(goal, label, why string, kind blackboard.EventKind) {
	b.t.Helper()
	b.goes("show/" + goal)
	b.says(label)
	b.sees("the button", fmt.Sprintf("((e) => e && (e.focus(), document.activeElement === e))([...document.querySelectorAll('#main button')].find((e) => e.textContent === %q))", label))
	b.press("Enter", 0)
	b.sees("it asks first", "document.getElementById('dialog').open && document.activeElement.id === 'why'")
	b.heard(label)
	b.do(chromedp.KeyEvent(why + kb.Tab + kb.Tab + kb.Enter))
	b.Until("the act is in the ledger", func() bool {
		all, err := b.board.Ledger.History(b.t.Context(), blackboard.Beginning, 1000)
		b.Must(err)
		return slices.ContainsFunc(all, func(e blackboard.Event) bool {
			return e.Kind == kind && e.Workflow == goal && e.Attributes[blackboard.AttributeBy] == "anna"
		})
	})
}

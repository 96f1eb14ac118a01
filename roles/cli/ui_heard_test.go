package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/chromedp"
)

// heard fails for each node that a screen reader can be led to, and for each row, article, item of a list, picture and
// place of the page, that has no name in the browser's accessibility tree.
func (b *browser) heard(view string) {
	b.t.Helper()
	tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	b.Must(err)
	if len(tree.Nodes) < 10 {
		b.t.Errorf("%s has %d nodes for a screen reader", view, len(tree.Nodes))
	}
	named := []string{"row", "article", "listitem", "image", "figure", "main", "navigation", "region", "dialog"}
	for _, n := range tree.Nodes {
		role := spoken(n.Role)
		if n.Ignored || spoken(n.Name) != "" || !slices.Contains(named, role) && !reachable(n) {
			continue
		}
		at, err := chromedp.Call(b.ctx, dom.GetOuterHTML, dom.GetOuterHTMLParams{BackendNodeID: n.BackendDOMNodeID})
		markup := at.OuterHTML
		if err != nil {
			markup = err.Error() // it is gone meanwhile
		}
		b.t.Errorf("%s: %s without a name: %.200s", view, role, markup)
	}
}

// spoken is a value of the accessibility tree as a text.
func spoken(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	var s string
	if json.Unmarshal(v.Value, &s) != nil {
		s = string(v.Value)
	}
	return strings.TrimSpace(s)
}

// reachable says whether the keyboard's focus can be at a node.
func reachable(n *accessibility.Node) bool {
	return slices.ContainsFunc(n.Properties, func(p *accessibility.Property) bool {
		return p.Name == "focusable" && fmt.Sprint(spoken(p.Value)) == "true"
	})
}

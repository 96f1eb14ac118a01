package diagram

import (
	"fmt"
	"html"
	"strings"

	"sett/roles/role"
)

// Style is the style sheet of all pictures. A document that holds pictures has it once;
// the colours follow the reader's choice of light or dark.
const Style = `svg.picture{font:12px system-ui,sans-serif;max-width:100%;height:auto}
svg.picture text{fill:currentColor}
svg.picture .dim{fill:currentColor;opacity:.65}
svg.picture .rule{stroke:currentColor;stroke-opacity:.18;fill:none}
svg.picture .now{stroke:currentColor;stroke-opacity:.7;fill:none}
svg.picture .edge{stroke:currentColor;stroke-opacity:.45;fill:none}
svg.picture .strong{stroke-width:2.4;stroke-opacity:.75}
svg.picture .loop{stroke:#c2410c;stroke-dasharray:4 3;fill:none}
svg.picture .box{fill:#8882;stroke:currentColor;stroke-opacity:.4}
svg.picture .good{fill:#15803d33;stroke:#15803d}
svg.picture .bad{fill:#b91c1c33;stroke:#b91c1c}
svg.picture .warn{fill:#c2410c33;stroke:#c2410c}
svg.picture .work{fill:#1d4ed844;stroke:#1d4ed8}
svg.picture .wait{fill:#8882;stroke:#888}
svg.picture .person{fill:#a21caf33;stroke:#a21caf}
svg.picture text.good{fill:#15803d;stroke:none}
svg.picture text.bad{fill:#b91c1c;stroke:none}
svg.picture text.warn{fill:#c2410c;stroke:none}
@media (prefers-color-scheme:dark){svg.picture text.good{fill:#4ade80}svg.picture text.bad{fill:#f87171}svg.picture text.warn{fill:#fb923c}}
`

// The tones of boxes, bars and badges: classes of Style.
const (
	Plain  = "box"
	Good   = "good"
	Bad    = "bad"
	Warn   = "warn"
	Work   = "work"   // a tool runs
	Wait   = "wait"   // bids, or a place in a queue, are waited for
	Person = "person" // a person is waited for
)

// Rect is a place in a picture, in its units.
type Rect struct{ X, Y, W, H float64 }

// Overlaps says whether two places have more than a border in common.
func (r Rect) Overlaps(o Rect) bool {
	const border = 0.01
	return r.X+r.W > o.X+border && o.X+o.W > r.X+border && r.Y+r.H > o.Y+border && o.Y+o.H > r.Y+border
}

// within says whether r lies in o.
func (r Rect) within(o Rect) bool {
	const border = 0.01
	return r.X >= o.X-border && r.Y >= o.Y-border && r.X+r.W <= o.X+o.W+border && r.Y+r.H <= o.Y+o.H+border
}

// Picture is a drawn picture. Boxes and Labels are the places of its parts, so that
// a test can compare them.
type Picture struct {
	Width, Height float64
	Boxes         []Rect
	Labels        []Rect // of texts, by their estimated width
	body          strings.Builder
}

// SVG returns the picture as an element for an HTML document that has Style. about says
// in words the contents, for screen readers.
func (p *Picture) SVG(about string) string {
	return fmt.Sprintf(`<svg class="picture" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img"><title>%s</title>%s%s</svg>`,
		num(p.Width), num(p.Height), num(p.Width), num(p.Height), safe(about), arrowHead, p.body.String())
}

// File returns the picture as a file of its own. about says in words the contents.
func (p *Picture) File(about string) string {
	svg := p.SVG(about)
	at := strings.Index(svg, ">") + 1
	return svg[:at] + "<style>" + Style + "</style>" + svg[at:] + "\n"
}

// arrowHead is the end of an arrow. Pictures of one document share its id: all are alike.
const arrowHead = `<defs><marker id="arrow" markerUnits="userSpaceOnUse" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="currentColor" fill-opacity=".55"/></marker></defs>`

// num writes a coordinate with one decimal at most.
func num(f float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0")
}

// safe makes any text harmless within an element or a quoted attribute.
func safe(s string) string { return html.EscapeString(role.Clean(s)) }

// box draws a box; its title is a tooltip, ref the id of the record that it stands for.
func (p *Picture) box(r Rect, class, title, ref string) {
	p.Boxes = append(p.Boxes, r)
	if ref != "" {
		ref = ` data-ref="` + safe(ref) + `"`
	}
	fmt.Fprintf(&p.body, `<rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="3"%s>`, class, num(r.X), num(r.Y), num(r.W), num(r.H), ref)
	if title != "" {
		fmt.Fprintf(&p.body, "<title>%s</title>", safe(title))
	}
	p.body.WriteString("</rect>")
}

// text draws a line of text; its baseline begins at x and y.
func (p *Picture) text(x, y float64, class, s string) {
	p.Labels = append(p.Labels, Rect{x, y - 10, Width(s), 13})
	fmt.Fprintf(&p.body, `<text class="%s" x="%s" y="%s">%s</text>`, class, num(x), num(y), safe(s))
}

// path draws a line.
func (p *Picture) path(class, d string, arrow bool) {
	end := ""
	if arrow {
		end = ` marker-end="url(#arrow)"`
	}
	fmt.Fprintf(&p.body, `<path class="%s" d="%s"%s/>`, class, d, end)
}

// tie draws an arrow between the boxes of two records, by their ids; empty: unknown.
func (p *Picture) tie(class, d, from, to string) {
	ends := ""
	if from != "" && to != "" {
		ends = ` data-from="` + safe(from) + `" data-to="` + safe(to) + `"`
	}
	fmt.Fprintf(&p.body, `<path class="%s" d="%s" marker-end="url(#arrow)"%s/>`, class, d, ends)
}

// Width estimates the width of a text of 12 units' height, rather too wide than too
// narrow: fonts differ.
func Width(s string) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case r >= 0x1100: // as wide as high, in most scripts from here on
			w += 13
		case strings.ContainsRune("iljtfrI.,:;'|!()[] ", r):
			w += 4.6
		case strings.ContainsRune("mwMW@%", r), r >= 'A' && r <= 'Z':
			w += 10
		default:
			w += 7.4
		}
	}
	return w
}

// Fit shortens a text to a width.
func Fit(s string, width float64) string {
	s = role.Clean(s)
	if Width(s) <= width {
		return s
	}
	all := []rune(s)
	for n := len(all) - 1; n > 0; n-- {
		if cut := strings.TrimRight(string(all[:n]), " ") + "…"; Width(cut) <= width {
			return cut
		}
	}
	return ""
}

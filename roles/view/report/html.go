package report

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
	"sett/roles/view/diagram"
)

// style is that of the page. It prints well, and follows the reader's choice of light or
// dark.
const style = `:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;overflow-wrap:anywhere}h2{font-size:1.15rem;margin-top:2.2rem;border-bottom:1px solid #8886}
pre,code{font:13px/1.4 ui-monospace,monospace}pre{background:#8881;padding:.6rem;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere}
p,h3{overflow-wrap:anywhere}.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:14px}td,th{text-align:left;vertical-align:top;padding:.15rem .6rem .15rem 0;overflow-wrap:break-word}
td:first-child,.entries td:nth-child(2){white-space:nowrap}td:last-child,.digests td:nth-child(n+3),.paths td:first-child{overflow-wrap:anywhere}td:last-child{min-width:9rem}.digests td:nth-child(n+3){min-width:5rem}.paths td:first-child{white-space:normal;width:70%}.paths td:last-child{min-width:0}th{font-weight:600}.quiet{opacity:.65}.good{color:#15803d}.warn{color:#c2410c}.bad{color:#b91c1c}
.add{color:#15803d}.del{color:#b91c1c}figure{margin:1rem 0;overflow-x:auto}
@media (prefers-color-scheme:dark){.good,.add{color:#4ade80}.warn{color:#fb923c}.bad,.del{color:#f87171}}
@media print{body{max-width:none;margin:0;padding:0;font-size:10pt}table{font-size:8.5pt}pre,code{font-size:8pt}.scroll,figure,pre{overflow:visible}h2,h3{break-after:avoid}tr,figure{break-inside:avoid}}
`

// page writes HTML. Every text goes through text, which makes it harmless.
type page struct{ strings.Builder }

// text writes a text.
func (p *page) text(s string) { p.WriteString(html.EscapeString(role.CleanText(s))) }

// element writes an element with a text.
func (p *page) element(tag, class, s string) {
	p.open(tag, class)
	p.text(s)
	p.WriteString("</" + tag + ">\n")
}

// block writes a text as its maker laid it out.
func (p *page) block(s string) {
	if strings.TrimSpace(s) == "" {
		p.element("p", "quiet", "It is empty.")
		return
	}
	p.element("pre", "", s)
}

// open begins an element.
func (p *page) open(tag, class string) {
	p.WriteString("<" + tag)
	if class != "" {
		p.WriteString(` class="` + html.EscapeString(class) + `"`)
	}
	p.WriteString(">")
}

// row writes a row of a table.
func (p *page) row(class string, cells ...string) {
	p.open("tr", class)
	for _, c := range cells {
		p.element("td", "", c)
	}
	p.WriteString("</tr>\n")
}

// table writes a table with a heading. Words stay whole; on a narrow screen the table can be scrolled. The classes
// paths and digests have cells that are broken anywhere, entries has ids in one line.
func (p *page) table(class string, head []string, rows int, row func(i int)) {
	p.open("div", "scroll")
	p.open("table", class)
	p.WriteString("<thead><tr>")
	for _, h := range head {
		p.WriteString("<th>")
		p.text(h)
		p.WriteString("</th>")
	}
	p.WriteString("</tr></thead><tbody>\n")
	for i := range rows {
		row(i)
	}
	p.WriteString("</tbody></table></div>\n")
}

// clock shows a time, in UTC.
func clock(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05.000") + " UTC" }

// moment shows a time in the lists of the report, in UTC: the time of day, with the date in a report of more than a day.
func (r *Report) moment(at time.Time) string {
	if r.oneDay() {
		return at.UTC().Format("15:04:05.000")
	}
	return at.UTC().Format("2006-01-02 15:04:05.000")
}

// oneDay says whether everything in the report was on the day on which the goal began, in UTC.
func (r *Report) oneDay() bool {
	day := func(at time.Time) string { return at.UTC().Format(time.DateOnly) }
	began := day(r.Goal.Began)
	until := cmp.Or(r.Goal.Ended, r.Goal.AsOf, r.Goal.Began)
	return day(until) == began &&
		!slices.ContainsFunc(r.People, func(d Deed) bool { return day(d.Time) != began }) &&
		!slices.ContainsFunc(r.Ledger, func(e Entry) bool { return day(e.Time) != began })
}

// HTML returns the report as one page. It needs no script and asks for no other file.
func (r *Report) HTML() string {
	var p page
	p.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n")
	p.WriteString("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src 'unsafe-inline'\">\n")
	p.element("title", "", "Goal "+words.Short(r.Goal.ID)+": "+words.Shorten(strings.Join(strings.Fields(r.Goal.Text), " "), 80))
	p.WriteString("<style>" + style + diagram.Style + "</style>\n</head>\n<body>\n")
	r.head(&p)
	r.outcomePart(&p)
	p.element("h2", "", "Timeline")
	p.WriteString("<figure>" + r.DrawTimeline().SVG("The goal's work over time") + "</figure>\n")
	p.element("h2", "", "Artefacts")
	p.WriteString("<figure>" + r.DrawGraph().SVG("What was made from what") + "</figure>\n")
	r.stepsPart(&p)
	r.peoplePart(&p)
	r.commitsPart(&p)
	r.ranPart(&p)
	r.modelsPart(&p)
	r.artefactsPart(&p)
	r.ledgerPart(&p)
	r.verifyPart(&p)
	p.WriteString("</body>\n</html>\n")
	return p.String()
}

// head says which goal it is and how it went.
func (r *Report) head(p *page) {
	title, rest, _ := strings.Cut(r.Goal.Text, "\n")
	p.element("h1", "", cmp.Or(strings.TrimSpace(title), "Goal "+words.Short(r.Goal.ID)))
	if rest = strings.TrimSpace(rest); rest != "" {
		p.element("pre", "", rest)
	}
	p.WriteString("<table><tbody>\n")
	p.row(string(view.WorkflowTone(r.Goal.Status)), "Goal", fmt.Sprintf("%s, %s", r.Goal.ID, r.Goal.Status))
	when := clock(r.Goal.Began)
	if !r.Goal.Ended.IsZero() {
		when += " to " + clock(r.Goal.Ended) + ", " + words.Span(r.Goal.Ended.Sub(r.Goal.Began))
	}
	p.row("", "Time", when)
	if r.Goal.Base != "" {
		base := r.Goal.Base
		if r.Goal.Branch != "" {
			base += " on " + r.Goal.Branch
		}
		p.row("", "Starts from", "commit "+base)
	}
	p.row("", "Instance", role.Clean(r.Instance)+", report by sett "+r.Sett)
	p.WriteString("</tbody></table>\n")
}

// outcomePart shows the goal's final result or Failure.
func (r *Report) outcomePart(p *page) {
	p.element("h2", "", "What came of it")
	if r.Outcome == nil {
		p.element("p", "", "No final result: the goal is "+string(r.Goal.Status)+".")
		return
	}
	p.element("p", string(view.StructuralTone(r.Outcome.StructuralType)), r.Outcome.Name()+" by "+r.Outcome.Maker+words.Because(r.Outcome.Says))
	p.block(r.Outcome.Excerpt)
	if r.Outcome.Commit != "" && r.Outcome.StructuralType != "Failure" {
		p.open("p", "")
		text, command := view.ToLand(r.Goal.workflow)
		p.text(strings.ToUpper(text[:1]) + text[1:])
		if command != "" {
			p.element("code", "", command)
		}
		p.WriteString("</p>\n")
	}
}

// stepsPart tells every decision.
func (r *Report) stepsPart(p *page) {
	p.element("h2", "", "Decisions")
	for _, s := range r.Steps {
		switch {
		case s.Claim != nil:
			kind, target := s.Claim.Title()
			p.element("h3", "", strings.ToUpper(kind[:1])+kind[1:]+" "+words.Short(s.Claim.ID)+" on "+target+": "+string(s.Claim.Status))
		case s.Unread != "":
			p.element("h3", "bad", "Claim "+words.Short(s.Unread)+": unreadable")
		default:
			continue
		}
		rows := s.Rows(r.moment)
		p.WriteString("<table><tbody>\n")
		for _, row := range rows {
			p.row(string(row.Tone), row.Label, role.Clean(row.Text))
		}
		p.WriteString("</tbody></table>\n")
	}
}

// peoplePart lists the words of people.
func (r *Report) peoplePart(p *page) {
	p.element("h2", "", "People")
	p.table("", []string{"Time", "Person", "", ""}, len(r.People), func(i int) {
		d := r.People[i]
		p.row("", r.moment(d.Time), d.By, string(d.Kind), d.Says)
	})
}

// ranPart lists the images and programs that ran.
func (r *Report) ranPart(p *page) {
	if len(r.Ran) == 0 {
		return
	}
	p.element("h2", "", "What ran")
	p.table("digests", []string{"Agent", "Runs", "Image", "Program", "Pinned files", "Settings", "Sett"}, len(r.Ran), func(i int) {
		x := r.Ran[i]
		p.row("", x.Agent, fmt.Sprint(x.Times), x.Image, x.Program, x.Pin, x.Config, x.Sett)
	})
}

// modelsPart tells of calls of models.
func (r *Report) modelsPart(p *page) {
	if len(r.Models) == 0 {
		return
	}
	p.element("h2", "", "Models")
	p.table("", []string{"Agent", "Model", "Calls", "Tokens", "Cost"}, len(r.Models), func(i int) {
		m := r.Models[i]
		p.row("", m.Agent, m.Model, fmt.Sprint(m.Calls), view.Tokens(m.Spent), view.CostText(m.Spent))
	})
}

package report

import (
	"fmt"
	"strings"

	"sett/blackboard"
	"sett/roles/role/words"
)

// commitsPart shows the commits with their patches.
func (r *Report) commitsPart(p *page) {
	if len(r.Commits) == 0 {
		return
	}
	p.element("h2", "", "Commits")
	for _, c := range r.Commits {
		p.element("h3", "", words.Commit(c.Hash)+" "+c.Subject)
		by := "of artefact " + words.Short(c.ArtefactID)
		if c.Author != "" {
			by = "by " + c.Author + ", " + clock(c.Date) + ", " + by
		}
		p.element("p", "quiet", c.Hash+" "+by)
		if len(c.Files) > 0 {
			p.table("paths", []string{"File", "Added", "Deleted"}, len(c.Files), func(i int) {
				f := c.Files[i]
				if f.Binary {
					p.row("", f.Path, "binary", "")
					return
				}
				p.row("", f.Path, fmt.Sprint(f.Added), fmt.Sprint(f.Deleted))
			})
		}
		if c.Patch != "" {
			p.patch(c.Patch)
		}
		if c.Cut {
			p.element("p", "warn", fmt.Sprintf("The patch is longer than %s; git shows the rest.", words.Size(mostPatch)))
		}
	}
}

// patch shows a patch, with colours.
func (p *page) patch(s string) {
	p.WriteString("<pre>")
	for line := range strings.Lines(s) {
		class := ""
		switch {
		case strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++"):
			class = "add"
		case strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "---"):
			class = "del"
		}
		if class == "" {
			p.text(line)
			continue
		}
		p.open("span", class)
		p.text(line)
		p.WriteString("</span>")
	}
	p.WriteString("</pre>\n")
}

// artefactsPart shows every artefact with the beginning of its payload.
func (r *Report) artefactsPart(p *page) {
	p.element("h2", "", "Payloads")
	for _, a := range r.Artefacts {
		tone := ""
		if a.StructuralType == blackboard.Failure {
			tone = "bad"
		}
		p.element("h3", tone, a.Name()+" by "+a.Maker)
		p.element("p", "quiet", fmt.Sprintf("%s, %s, %s, sha256 %s", a.ID, clock(a.CreatedAt), words.Count(a.PayloadSize, "byte"), a.SHA256))
		p.block(a.Excerpt)
	}
}

// ledgerPart lists the entries of the ledger.
func (r *Report) ledgerPart(p *page) {
	p.element("h2", "", "Ledger")
	p.table("entries", []string{"Time", "Entry", "By", "", ""}, len(r.Ledger), func(i int) {
		e := r.Ledger[i]
		p.row(string(e.Tone), r.moment(e.Time), e.ID, e.By, string(e.Kind), e.Says)
	})
}

// verifyPart says how to check the report, and lists the parts that it lacks.
func (r *Report) verifyPart(p *page) {
	p.element("h2", "", "How to verify")
	p.element("p", "", "The same goal, version of sett, ledger and store give the same report, byte for byte. Each payload has the SHA-256 that the ledger recorded with it.")
	p.element("pre", "", r.commands())
	if len(r.Lacks) > 0 {
		p.element("h2", "warn", "What is missing here")
		p.WriteString("<ul>\n")
		for _, l := range r.Lacks {
			p.element("li", "", l)
		}
		p.WriteString("</ul>\n")
	}
}

// commands are those that check the report.
func (r *Report) commands() string {
	lines := []string{"sett report " + r.Goal.ID + " -o json   # all of this, for programs", "sett why " + r.Goal.ID}
	if len(r.Artefacts) > 0 {
		lines = append(lines, "sett unearth "+r.Artefacts[len(r.Artefacts)-1].ID+" --raw | sha256sum")
	}
	if len(r.Commits) > 0 {
		lines = append(lines, "git -C STORE show "+r.Commits[len(r.Commits)-1].Hash+"   # sett config names the STORE")
	}
	return strings.Join(lines, "\n")
}

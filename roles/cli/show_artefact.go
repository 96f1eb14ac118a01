package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"sett/blackboard"
)

func (v artefactView) text(a *app) error {
	m := v.Artefact
	a.printf("%s %s\n", a.paint("artefact", bold), m.ID)
	t := a.table()
	version := fmt.Sprintf("%d", m.Version)
	if m.LogicalID != m.ID {
		version += " of thread " + short(m.LogicalID)
	}
	by := m.ProducedByAgent
	if m.ProducedByRole == blackboard.RoleHuman {
		by = blackboard.PersonOf(blackboard.Artefact{ProducedByRole: m.ProducedByRole, Metadata: m.Metadata})
	}
	if by == "" {
		by = m.ProducedByRole
	} else if m.ProducedByRole != by {
		by += ", as " + m.ProducedByRole
	}
	for _, f := range [][2]string{
		{"type", m.Type}, {"structural type", string(m.StructuralType)}, {"version", version},
		{"by", by + " at " + a.clock(m.CreatedAt)}, {"approval", v.Gate.text(a)}, {"goal", short(m.WorkflowID)}, {"made under", withPrefix("claim ", short(m.ClaimID))},
		{"sources", briefs(v.Sources)}, {"children", briefs(v.Children)}, {"summary", m.Summary}, {"metadata", metadataText(m.Metadata)},
		{"payload", fmt.Sprintf("%d bytes, sha256 %s…", m.PayloadSize, m.PayloadSHA256[:12])},
	} {
		if f[1] != "" {
			t.row(cell{"  " + f[0], dim}, f[1])
		}
	}
	if err := t.write(a.Stdout); err != nil {
		return err
	}
	if v.Excerpt != "" {
		a.printf("\n%s\n", indent(v.Excerpt, "    "))
	}
	if v.Claim == nil {
		return nil
	}
	a.printf("\n")
	if err := v.Claim.lines(a); err != nil {
		return err
	}
	if err := v.Claim.chainLines(a); err != nil {
		return err
	}
	return a.waitLines(v.Claim.Waits, 0)
}

func briefs(all []artefactMeta) string {
	out := make([]string, len(all))
	for i, m := range all {
		out[i] = title(blackboard.Artefact{StructuralType: m.StructuralType, Type: m.Type, Version: m.Version}) + " " + short(m.ID)
	}
	return strings.Join(out, "; ")
}

func shorts(ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = short(id)
	}
	return out
}

func withPrefix(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func metadataText(raw json.RawMessage) string {
	if s := string(raw); s != "{}" {
		return shorten(s, 200)
	}
	return ""
}

func indent(s, by string) string {
	return by + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+by)
}

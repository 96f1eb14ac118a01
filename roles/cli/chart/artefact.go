package chart

import (
	"encoding/json"
	"fmt"
	"strings"

	"sett/blackboard"
	"sett/roles/cli/term"
	"sett/roles/role/words"
	"sett/roles/view"
)

// Artefact prints an artefact, its payload's beginning and the claim on it.
func Artefact(t *term.Terminal, v view.ArtefactDetail) error {
	m := v.Artefact
	t.Printf("%s %s\n", t.Paint("artefact", term.Bold), m.ID)
	rows := t.Table()
	version := fmt.Sprintf("%d", m.Version)
	if m.LogicalID != m.ID {
		version += " of thread " + words.Short(m.LogicalID)
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
		{"by", by + " at " + t.Clock(m.CreatedAt)}, {"approval", v.Gate.Text(t.Clock)}, {"goal", words.Short(m.WorkflowID)}, {"made under", withPrefix("claim ", words.Short(m.ClaimID))},
		{"sources", briefs(v.Sources)}, {"children", briefs(v.Children)}, {"summary", m.Summary}, {"metadata", metadataText(m.Metadata)},
		{"commit", m.Commit}, {"payload", fmt.Sprintf("%d bytes, sha256 %s…", m.PayloadSize, m.PayloadSHA256[:12])},
	} {
		if f[1] != "" {
			rows.Row(term.Cell{Text: "  " + f[0], As: term.Dim}, f[1])
		}
	}
	if err := rows.Write(t.Stdout); err != nil {
		return err
	}
	if v.Excerpt != "" {
		t.Printf("\n%s\n", words.Indent(v.Excerpt, "    "))
	}
	if v.Claim == nil {
		return nil
	}
	t.Printf("\n")
	if err := claimLines(t, v.Claim.ClaimDetail); err != nil {
		return err
	}
	if err := chainLines(t, *v.Claim); err != nil {
		return err
	}
	return Waits(t, v.Claim.Waits, 0)
}

func briefs(all []view.Meta) string {
	out := make([]string, len(all))
	for i, m := range all {
		out[i] = view.Named(blackboard.Artefact{ID: m.ID, StructuralType: m.StructuralType, Type: m.Type, Version: m.Version})
	}
	return strings.Join(out, "; ")
}

func withPrefix(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func metadataText(raw json.RawMessage) string {
	if s := string(raw); s != "{}" {
		return words.Shorten(s, 200)
	}
	return ""
}

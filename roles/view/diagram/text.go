package diagram

import (
	"fmt"
	"strings"
	"unicode"

	"sett/roles/role"
)

// MermaidText makes any text safe within a quoted label. It writes all characters but
// letters, digits and a few harmless signs as #CODE;. Mermaid shows that as the
// character, and never takes it for markup, an entity or a directive.
func MermaidText(s string) string {
	var b strings.Builder
	for _, r := range role.Clean(s) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" .,:_-+/()=!?'@", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// DotText makes any text safe within a quoted label. There a quote ends the label, a
// backslash starts a command, and an ampersand starts an entity.
func DotText(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;").Replace(role.Clean(s))
}

package cli

import (
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"sett/roles/role"
)

// TestGoldenCommit: what unearth prints of a commit, and of its patch.
func TestGoldenCommit(t *testing.T) {
	s := newStage(t)
	first, second := s.commits()
	ids := map[string]string{"commit": s.codeCommit(second), "lost": s.codeCommit(strings.Repeat("a", 40))}
	mask := s.masking()
	hashes := strings.NewReplacer(first, "<commit 1>", second, "<commit 2>", fmt.Sprintf("%x", sha256.Sum256([]byte(second))), "<sha256 of commit 2>")
	date := regexp.MustCompile(`(?m)^Date:   .*`)
	for name, args := range map[string]string{"unearth-commit": "unearth {commit}", "unearth-diff": "unearth {commit} --diff", "unearth-no-commit": "unearth {lost}"} {
		for _, form := range forms {
			stdout, _, err := s.run(append(named(args, ids), "-o", form)...)
			s.Must(err)
			golden(t, "golden/"+name+"."+extension(form), date.ReplaceAllString(mask(hashes.Replace(stdout)), "Date:   <date>"))
		}
	}
}

// TestGoldenLand: what land and diff print of a result.
func TestGoldenLand(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	commit := s.aside("new", "1\n", "data", "\x00\x01", "sett.yml", clan+"# more\n")
	_, terminal := s.achieved(base, commit)
	ids := map[string]string{"terminal": terminal}
	mask := s.masking()
	hashes := regexp.MustCompile(`\b[0-9a-f]{10,64}\b`)
	for name, args := range map[string]string{"land": "land {terminal} --dry-run", "diff": "diff {terminal}"} {
		for _, form := range forms {
			stdout, _, err := s.run(append(named(args, ids), "-o", form)...)
			s.Must(err)
			golden(t, "golden/"+name+"."+extension(form), mask(hashes.ReplaceAllString(stdout, "<commit>")))
		}
	}
}

// TestGoldenLeftovers: what leftovers prints.
func TestGoldenLeftovers(t *testing.T) {
	s, _, _ := withLeftovers(t)
	mask := s.masking()
	hashes := regexp.MustCompile(`"?\b[0-9a-f]{40}\b"?`) // YAML quotes some
	ages, gaps := regexp.MustCompile(`(?m)("?age_seconds"?: ?)[0-9]+|^(\S+ +)[0-9]+[a-z]\b`), regexp.MustCompile(` {2,}`)
	for _, form := range forms {
		stdout, _, err := s.run("leftovers", "-o", form)
		s.Must(err)
		text := ages.ReplaceAllString(mask(hashes.ReplaceAllString(stdout, `"<commit>"`)), "${1}${2}1")
		if form == "table" {
			text = gaps.ReplaceAllString(text, "  ") // columns are as wide as ages
		}
		golden(t, "golden/leftovers."+extension(form), text)
	}
}

// extension is what the golden file of a form is called.
func extension(form string) string { return strings.Replace(form, "table", "txt", 1) }

// TestGoldenWaits: what watch --waits prints once it is quiet.
func TestGoldenWaits(t *testing.T) {
	s := newStage(t)
	ids := s.tell()
	mask := s.masking()
	for _, form := range forms {
		c := s.start("watch", "--workflow", ids["asking"], "--waits", "-o", form)
		s.Until("what is waited for", func() bool {
			return strings.Contains(c.out.String(), "waits") && strings.HasSuffix(c.out.String(), "\n")
		})
		c.stop()
		s.Must(c.wait())
		golden(t, "golden/watch-waits."+extension(form), mask(c.out.String()))
	}
}

// TestGoldenDryRun: what up --dry-run prints.
func TestGoldenDryRun(t *testing.T) {
	e, _ := workspace(t)
	paths := strings.NewReplacer(e.Args[1], "<workspace>", e.Getenv("HOME"), "<home>")
	for _, form := range forms {
		out, err := invoke(context.Background(), e, "up", "--dry-run", "-o", form)
		if role.CodeOf(err) != role.OK {
			t.Fatal(err)
		}
		golden(t, "golden/up-dry-run."+extension(form), paths.Replace(out))
	}
}

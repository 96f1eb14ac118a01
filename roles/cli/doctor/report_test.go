package doctor

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"

	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
)

// TestFindingsFit: on a terminal findings and remedies are broken in their column, elsewhere
// they are whole lines.
func TestFindingsFit(t *testing.T) {
	all := []Finding{
		{Status: OK, Check: "git", Finding: "git version 2.49.1"},
		{Status: Problem, Check: "config", Subject: "sett.yml", Finding: "agents.writer.bids: no agent makes the type Darft, so that the writer never works", Do: "did you mean Draft? sett config shows what applies, and where it comes from"},
	}
	for columns, want := range map[uint16]string{
		0: `ok       git              git version 2.49.1
problem  config sett.yml  agents.writer.bids: no agent makes the type Darft, so that the writer never works
                          → did you mean Draft? sett config shows what applies, and where it comes from
`,
		80: `ok       git              git version 2.49.1
problem  config sett.yml  agents.writer.bids: no agent makes the type Darft, so
                          that the writer never works
                          → did you mean Draft? sett config shows what
                            applies, and where it comes from
`,
		120: `ok       git              git version 2.49.1
problem  config sett.yml  agents.writer.bids: no agent makes the type Darft, so that the writer never works
                          → did you mean Draft? sett config shows what applies, and where it comes from
`,
	} {
		var out bytes.Buffer
		e := role.Env{Stdout: &out, Lookup: func(string) (string, bool) { return "", false }}
		read := out.String
		if columns > 0 {
			master, tty, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: columns}); err != nil {
				t.Fatal(err)
			}
			e.Stdout = tty
			read = func() string { return shown(t, master, tty) }
		}
		on := term.New(e)
		if err := showFindings(instance.New(&on, instance.Flags{}), all); err != nil {
			t.Fatal(err)
		}
		if got := read(); got != want {
			t.Errorf("in %d columns\n%s\nwant\n%s", columns, got, want)
		}
	}
}

// shown is everything that was written to a terminal.
func shown(t *testing.T, master, tty *os.File) string {
	t.Helper()
	defer master.Close()
	defer tty.Close()
	const end = "<end>"
	if _, err := tty.WriteString(end); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for buf := make([]byte, 4096); !strings.HasSuffix(all.String(), end); {
		n, err := master.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(buf[:n])
	}
	return strings.ReplaceAll(strings.TrimSuffix(all.String(), end), "\r\n", "\n")
}

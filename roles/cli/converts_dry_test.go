package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"sett/roles/cli/deploy"
	"sett/roles/cli/instance"
)

// A dry run tells of the conversion of an older sett's records, which cannot be undone, of an instance that runs and of one
// that is stopped; and of none where there is none.
func TestDryRunTellsOfConversion(t *testing.T) {
	e, dir := workspace(t)
	run := func(args ...string) string {
		t.Helper()
		out, err := invoke(context.Background(), e, args...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return out
	}
	tells := func(converts bool) {
		t.Helper()
		var p deploy.Plan
		if err := json.Unmarshal([]byte(run("up", "--dry-run", "-o", "json")), &p); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(run("up", "--dry-run")), " ")
		said := strings.Contains(text, "have schema 1, this sett writes 2; sett up converts them, once; an older sett is shut out from then on, so make a backup with that one first: sett ledger export")
		if p.Blackboard.Converts != converts || said != converts || p.Idle() && converts {
			t.Errorf("%+v, want %v:\n%s", p.Blackboard, converts, text)
		}
	}
	tells(false)
	run("up")
	tells(false)
	in, err := instance.LoadInstance(dir)
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(in.URL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	answers := bufio.NewReader(c)
	for _, line := range []string{"AUTH " + in.Admin(), "HSET sett:{" + in.Name + "}:instance schema 1"} {
		words := strings.Fields(line)
		fmt.Fprintf(c, "*%d\r\n", len(words))
		for _, w := range words {
			fmt.Fprintf(c, "$%d\r\n%s\r\n", len(w), w)
		}
		if said, err := answers.ReadString('\n'); err != nil || strings.HasPrefix(said, "-") {
			t.Fatalf("%s: %q, %v", words[0], said, err)
		}
	}
	tells(true)
	run("down")
	tells(true)
	if out := run("up"); !strings.Contains(out, "converted ") {
		t.Errorf("up converts nothing:\n%s", out)
	}
	tells(false)
	run("down", "--purge", "--yes")
}

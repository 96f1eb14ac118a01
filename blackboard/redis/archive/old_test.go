package archive_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"sett/blackboard/boardtest"
	"sett/blackboard/redis/archive"
)

// An export of an older Sett, with versions, reviews, questions, gates, failures and
// reworks, is imported, and an export of that has the same lines.
func TestOldExport(t *testing.T) {
	old, err := os.ReadFile("testdata/issue8.jsonl")
	boardtest.Must(t, err)
	for _, kind := range []string{`"version":2`, `"Review"`, `"Question"`, `"Answer"`, `"kind":"approve"`, `"kind":"reject"`, `"index":"gates"`, `"Failure"`, `"origin":"rework"`} {
		if !bytes.Contains(old, []byte(kind)) {
			t.Errorf("the old export has no %s", kind)
		}
	}
	b := boardtest.Start(t, "test")
	_, err = archive.Import(b.Ctx, b.Moves, bytes.NewReader(old), archive.ImportOptions{Token: b.NewID(), By: "ann", Source: "a file"})
	b.Must(err)
	var out strings.Builder
	_, err = archive.Export(b.Ctx, b.Moves, &out, archive.ExportOptions{})
	b.Must(err)
	before, after := lines(string(old)), lines(out.String())
	if len(after) != len(before)+1 || !strings.Contains(after[len(after)-1], `"kind":"import"`) {
		t.Fatalf("%d lines became %d, the last is %s", len(before), len(after), after[len(after)-1])
	}
	for i, line := range before {
		if after[i] != line {
			t.Errorf("line %d was\n%s\nand is\n%s", i+2, line, after[i])
		}
	}
}

// lines returns all lines but the header and the footer, which have times and counts.
func lines(export string) []string {
	all := strings.Split(strings.TrimSpace(export), "\n")
	return all[1 : len(all)-1]
}

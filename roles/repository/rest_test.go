package repository

import (
	"slices"
	"strings"
	"testing"

	line "sett/roles/role/repository"
	"sett/roles/role/store"
)

// What a tool has changed beside its own commit is kept as a leftover and named, and nothing else is.
func TestChangesBesideACommit(t *testing.T) {
	p := newPlace(t)
	p.start()
	ctx := t.Context()
	for claim, c := range map[string]struct {
		does   string
		files  []string
		more   int
		unkept string
	}{
		"forgets":    {"echo two > d/file; echo new > new.go; git commit -qam two", []string{"new.go"}, 0, ""},
		"changes":    {"echo two > d/file; git commit -qam two; echo three > d/file", []string{"d/file"}, 0, ""},
		"removes":    {"echo x > a; git add a; git commit -qm two; rm d/file", []string{"d/file"}, 0, ""},
		"names-head": {"echo two > d/file; git add d/file", []string{"d/file"}, 0, ""},
		"many":       {"for i in 1 2 3 4 5 6 7; do echo $i > f$i; done; git commit -q --allow-empty -m two", []string{"f1", "f2", "f3", "f4", "f5"}, 2, ""},
		"large":      {"echo x > a; git add a; git commit -qm two; head -c 17000000 /dev/zero > core", []string{"core"}, 0, "17.0 MB, above 16.0 MB"},
		"all":        {"echo two > d/file; echo new > new.go; git add -A; git commit -qm two", nil, 0, ""},
		"ignored":    {"echo log > .gitignore; echo x > log; git add .gitignore; git commit -qm two", nil, 0, ""},
		"forced":     {"echo log > .gitignore; echo x > log; git add -f .gitignore log; git commit -qm two", nil, 0, ""},
		"renames":    {"git mv d/file e; git commit -qm two", nil, 0, ""},
		"mode":       {"chmod +x d/file; ln -s d link; git add -A; git commit -qm two", nil, 0, ""},
		"filtered":   {"git config filter.f.clean 'tr a-z A-Z'; echo '*.x filter=f' > .gitattributes; echo low > a.x; git add -A; git commit -qm two", nil, 0, ""},
		"unborn":     {"git checkout -q --orphan other; echo y > y; git add -A; git commit -qm two", nil, 0, ""},
		"touched":    {"echo x > a; git add a; git commit -qm two; touch d/file", nil, 0, ""},
		"eol":        {"printf '* text=auto\\n' > .gitattributes; printf 'a\\r\\n' > w; git add -A; git commit -qm two", nil, 0, ""},
	} {
		if _, err := p.client.Prepare(ctx, line.Prepare{Grant: first(claim), Goal: "goal"}); err != nil {
			t.Fatal(err)
		}
		sh(t, p.tree("writer"), c.does)
		hash := sh(t, p.tree("writer"), "git rev-parse HEAD")
		held, err := p.client.Take(ctx, line.Take{Grant: first(claim), Hash: hash, Artefact: "a-" + claim, Rebased: true, Last: true})
		if err != nil || held.Commit != hash {
			t.Fatalf("%s: %+v %v", claim, held, err)
		}
		if held.Rest == nil {
			held.Rest = &line.Rest{}
		}
		r := *held.Rest
		if !slices.Equal(r.Files, c.files) || r.More != c.more || !strings.HasPrefix(r.NotKept, c.unkept) || (r.NotKept != "") != (c.unkept != "") {
			t.Errorf("%s: %+v", claim, r)
		}
		kept, err := p.store.Commit(ctx, store.Leftover(claim, "writer", 1))
		if err != nil || kept != r.Kept || (kept != "") != (len(c.files) > 0 && c.unkept == "") {
			t.Errorf("%s: the store holds %q, %v", claim, kept, err)
		}
		if kept == "" {
			continue
		}
		changed := sh(t, p.storeDir(), "git diff --name-only "+hash+" "+kept)
		if got := strings.Fields(changed); len(got) != len(c.files)+c.more || !slices.Contains(got, c.files[0]) {
			t.Errorf("%s: the leftover has %q", claim, got)
		}
	}
}

package store

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
)

// quarrels are two changes that git can neither merge nor mark in a file, and what an agent may decide.
var quarrels = map[string]struct {
	ours, theirs string
	file, kind   string
	at           string               // the sides whose version lies beside the file: O, T
	plain        string               // of the message
	decide       map[string][2]string // a script, and the files afterwards: FILE=CONTENT, words with a space between
}{
	"binary": {`printf '\0ours' >bin`, `printf '\0theirs' >bin`, "bin", "binary", "OT", "both sides changed a binary file", map[string][2]string{
		"ours":    {"mv bin~$O bin; rm bin~$T", "bin=\x00ours"},
		"theirs":  {"mv bin~$T bin; rm bin~$O", "bin=\x00theirs"},
		"both":    {"cat bin~$O bin~$T >bin; rm bin~*", "bin=\x00ours\x00theirs"},
		"neither": {"rm bin bin~*", ""},
		"by git":  {"git checkout -q $O -- bin; git rm -q 'bin~*'", "bin=\x00ours"},
	}},
	"binary, both added": {`printf '\0ours' >new`, `printf '\0theirs' >new`, "new", "binary", "OT", "both sides changed a binary file", map[string][2]string{
		"theirs": {"mv new~$T new; rm new~$O", "new=\x00theirs"},
	}},
	"removed here": {"rm gone", "echo theirs >gone", "gone", "modify/delete", "T", "one side changed it, the other removed it", map[string][2]string{
		"removed": {"rm gone gone~*", ""},
		"changed": {"mv gone~* gone", "gone=theirs"},
	}},
	"removed there": {"echo ours >gone", "rm gone", "gone", "modify/delete", "O", "one side changed it, the other removed it", map[string][2]string{
		"removed": {"rm gone gone~*", ""},
		"changed": {"mv gone~* gone", "gone=ours"},
	}},
	"two new names": {"mv long b", "mv long c", "b", "rename/rename", "O", "the two sides gave a file different names", map[string][2]string{
		"ours":   {"mv b~* b; rm c c~*", "b=LONG"},
		"theirs": {"mv c~* c; rm b b~*", "c=LONG"},
		"both":   {"mv b~* b; mv c~* c", "b=LONG c=LONG"},
		"none":   {"rm b* c*", ""},
	}},
	"two new names, other lines": {"mv long b; sed -i s/^30$/ours/ b", "mv long c; sed -i s/^30$/theirs/ c", "b", "rename/rename", "O", "different names", map[string][2]string{
		"ours": {"sed -i -e '/^[<=>]/d' b~*; mv b~* b; rm c c~*", ""},
	}},
	"renamed or removed": {"mv long b", "rm long", "b", "rename/delete", "O", "one side renamed it, the other removed it", map[string][2]string{
		"renamed": {"mv b~* b", "b=LONG"},
		"removed": {"rm b b~*", ""},
	}},
	"two modes": {"echo n >n", "echo n >n; chmod +x n", "n", "distinct modes", "OT", "different kinds or modes", map[string][2]string{
		"ours":   {"mv n~$O n; rm n~*", "n=n"},
		"theirs": {"mv n~$T n; rm n~*", "n=n*"},
	}},
	"file or link": {"rm gone; ln -s a gone", "echo theirs >gone", "gone", "distinct modes", "OT", "different kinds or modes", map[string][2]string{
		"link": {"mv gone~$O gone; rm gone~*", "gone=->a"},
		"file": {"mv gone~$T gone; rm gone~*", "gone=theirs"},
	}},
	"two links": {"ln -s a n", "ln -s gone n", "n", "contents", "OT", "both sides changed it", map[string][2]string{
		"theirs": {"mv n~$T n; rm n~*", "n=->gone"},
	}},
	"file or directory": {"echo ours >d", "mkdir d; echo theirs >d/x", "d", "file/directory", "O", "one side has a file of this name, the other a directory", map[string][2]string{
		"directory": {"rm d~*", "d/x=theirs"},
		"file":      {"rm -r d; mv d~* d", "d=ours"},
		"both":      {"mv d~* e", "d/x=theirs e=ours"},
	}},
	"a renamed directory": {"mv dir dir2", "echo new >dir/new", "dir2/new", "directory rename suggested", "T", "renamed the directory", map[string][2]string{
		"moved": {"mv dir2/new~* dir2/new", "dir2/new=new"},
		"back":  {"mkdir dir; mv dir2/new~* dir/new; rm dir2/new", "dir/new=new"},
	}},
	"submodule": {"git update-index --cacheinfo 160000,$ONE,sub", "git update-index --cacheinfo 160000,$TWO,sub", "sub", "submodule", "OT", "different commits of this submodule", map[string][2]string{
		"ours":    {"grep -q 'Subproject commit '$ONE sub~$O; rm sub~*", "sub=$ONE"},
		"theirs":  {"rm sub~*; git update-index --cacheinfo 160000,$TWO,sub; git commit -qam x", "sub=$TWO"},
		"removed": {"rm -r sub*", ""},
	}},
	"submodule, removed here": {"git rm -q --cached sub; rmdir sub", "git update-index --cacheinfo 160000,$TWO,sub", "sub", "modify/delete", "T", "one side changed it, the other removed it", map[string][2]string{
		"changed": {"rm sub~*", "sub=$TWO"},
		"removed": {"rm -r sub*", ""},
	}},
	"submodule or file": {"git update-index --add --cacheinfo 160000,$ONE,mod", "echo theirs >mod", "mod", "distinct modes", "OT", "different kinds or modes", map[string][2]string{
		"submodule": {"rm mod~*", "mod=$ONE"},
		"file":      {"rmdir mod; mv mod~$T mod; rm mod~*", "mod=theirs"},
	}},
	"submodule or directory": {"git update-index --add --cacheinfo 160000,$ONE,mod", "mkdir mod; echo theirs >mod/x", "mod", "file/directory", "O", "the other a directory", map[string][2]string{
		"directory": {"rm mod~*", "mod/x=theirs"},
	}},
	"an odd name": {`printf '\0ours' >"x y/:ä *"`, `printf '\0theirs' >"x y/:ä *"`, "x y/:ä *", "binary", "OT", "both sides changed a binary file", map[string][2]string{
		"ours": {`cd "x y"; mv ":ä *~$O" ":ä *"; rm ":ä *~$T"`, ""},
	}},
	"an ignored file": {`printf '\0ours' >ignored`, `printf '\0theirs' >ignored`, "ignored", "binary", "OT", "both sides changed a binary file", map[string][2]string{
		"ours": {"mv ignored~$O ignored; rm ignored~*", "ignored=\x00ours"},
	}},
	"the longest name": {`printf '\0ours' >` + long, `printf '\0theirs' >` + long, long, "binary", "OT", "both sides changed a binary file", map[string][2]string{
		"theirs": {"mv *~$T " + long + "; rm *~*", long + "=\x00theirs"},
	}},
}

var long = strings.Repeat("n", 255)

const one, two = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"

// TestUndecided: a conflict without marks of git's is settled by an agent that decided, each way, and by no other.
func TestUndecided(t *testing.T) {
	lines := ""
	for n := 10; n < 50; n++ {
		lines += string([]byte{byte('0' + n/10), byte('0' + n%10), '\n'})
	}
	p := newPerson(t)
	p.commit("a", "a\n", "gone", "g\n", "bin", "\x00\x01", "long", lines, "dir/f1", lines+"1\n", "dir/f2", lines+"2\n", "x y/:ä *", "\x00", "ignored", "\x00", long, "\x00")
	run(t, p.dir, "sh", "-ec", "echo ignored >.gitignore; git add .gitignore; git update-index --add --cacheinfo 160000,3333333333333333333333333333333333333333,sub; git commit -qm more")
	base := line(run(t, p.dir, "git", "rev-parse", "HEAD"))
	s := p.store()
	sides := "ONE=" + one + "; TWO=" + two + "; "
	change := func(t *testing.T, script string) string {
		tree := prepared(t, s, base)
		made := line(run(t, tree.Dir(), "sh", "-ec", sides+script+"\ngit add -A -- . ':!sub' ':!mod'; [ -f mod ] || [ -d mod ] && git add mod; git commit -qm change; git rev-parse HEAD"))
		if _, err := s.Take(t.Context(), tree.Offer(made, []string{base}), Artefact(made)); err != nil {
			t.Fatal(err)
		}
		return made
	}
	for name, c := range quarrels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := change(t, c.ours), change(t, c.theirs)
			k, found, err := FindClash(t.Context(), s, []string{ours, theirs})
			if err != nil || !found || !slices.Contains(k.Files, c.file) {
				t.Fatalf("%+v %t %v", k, found, err)
			}
			i := slices.IndexFunc(k.Kinds, func(f blackboard.ConflictFile) bool { return f.File == c.file })
			if i < 0 || k.Kinds[i].Kind != c.kind || k.Kinds[i].Marks {
				t.Fatalf("%s: %+v", c.file, k.Kinds)
			}
			var beside []string
			for _, side := range c.at {
				beside = append(beside, map[rune]string{'O': ours, 'T': theirs}[side])
			}
			for n, at := range k.Kinds[i].Decisions() {
				if n >= len(beside) || !strings.HasSuffix(at, "~"+beside[n]) || run(t, s.Dir, "git", "--git-dir=.", "ls-tree", k.Commit, "--", at) == "" {
					t.Errorf("beside the file is %s", at)
				}
			}
			if err := s.Hold(t.Context(), Artefact("k-"+k.Commit), k.Commit); err != nil {
				t.Fatal(err)
			}
			settle := func(script string) (commit, why string) {
				tree := prepared(t, s, k.Commit)
				run(t, tree.Dir(), "sh", "-ec", sides+"O="+ours+"; T="+theirs+"\n"+script)
				ref := Artefact("r-" + k.Commit)
				if err := s.LetGo(t.Context(), ref); err != nil {
					t.Fatal(err)
				}
				made, err := tree.Commit(t.Context(), Changes{Start: k.Commit, Message: "both", Author: Author{"m", "m@x"}, Parents: []string{ours, theirs}}, []string{k.Commit, ours, theirs}, ref)
				if err != nil || made.Commit == "" {
					t.Fatalf("%+v %v", made, err)
				}
				why, err = Settles(t.Context(), s, made.Commit, k.Commit)
				if err != nil {
					t.Fatal(err)
				}
				return made.Commit, why
			}
			for _, nothing := range []string{":", "echo more >more", "git add -A; git commit -q --allow-empty -m nothing"} {
				if _, why := settle(nothing); !strings.Contains(why, c.file) || !strings.Contains(why, c.plain) || !strings.Contains(why, "("+c.kind+")") || !strings.Contains(why, "leave no "+c.file+"~COMMIT") {
					t.Errorf("after %q: %q", nothing, why)
				}
			}
			if !strings.HasPrefix(c.kind, "file/") && !strings.HasPrefix(name, "submodule") {
				if _, why := settle("find . -name '*~*' -delete"); !strings.Contains(why, "still has a mark of the conflict") || !strings.Contains(why, c.plain) {
					t.Errorf("without the versions: %q", why)
				}
			}
			for way, d := range c.decide {
				commit, why := settle(d[0])
				if why != "" {
					t.Errorf("%s: %q", way, why)
				}
				want := strings.NewReplacer("$ONE", one, "$TWO", two, "LONG", lines).Replace(d[1])
				if got := changed(t.Context(), t, s, base, commit); want != "" && !hasFiles(got, want) || strings.Contains(got, "~") {
					t.Errorf("%s: %q, want %q", way, got, want)
				}
			}
		})
	}
}

func hasFiles(got, want string) bool {
	for w := range strings.SplitSeq(want, " ") {
		if !strings.Contains(got, "|"+w) {
			return false
		}
	}
	return true
}

// changed are the files of a commit that another has not: |FILE=CONTENT, with a star after those of programs.
func changed(ctx context.Context, t *testing.T, s *Store, before, commit string) string {
	t.Helper()
	out, err := s.git(ctx, "diff-tree", "-r", "-z", "--no-renames", "--diff-filter=AMT", before, commit)
	if err != nil {
		t.Fatal(err)
	}
	said, parts := "", strings.Split(out, "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		f := strings.Fields(parts[i])
		text := f[3]
		if f[1] != blackboard.ModeSubmodule {
			if text, err = s.git(ctx, "cat-file", "blob", f[3]); err != nil {
				t.Fatal(err)
			}
		}
		switch f[1] {
		case "100755":
			text = line(text) + "*"
		case blackboard.ModeLink:
			text = "->" + text
		}
		said += "|" + parts[i+1] + "=" + text
	}
	return said
}

// TestUndecidedContent: pointers of git LFS are versions of a binary file, and get no marks among their lines.
func TestUndecidedContent(t *testing.T) {
	p := lfsPerson(t)
	first, second := p.pointer(large+"ours"), p.pointer(large+"theirs")
	p.commit("x.bin", p.pointer(large))
	p.git("checkout", "-q", "-b", "ours")
	ours := p.commit("x.bin", first)
	p.git("checkout", "-q", "-b", "theirs", "main")
	theirs := p.commit("x.bin", second)
	s := p.lfsStore(first, second)
	k, found, err := FindClash(t.Context(), s, []string{ours, theirs})
	if err != nil || !found || len(k.Kinds) != 1 || k.Kinds[0].Kind != "binary" || len(k.Hunks) > 0 {
		t.Fatalf("%+v %t %v", k, found, err)
	}
	tree := prepared(t, s, k.Commit)
	isFile(t, filepath.Join(tree.Dir(), "x.bin~"+ours), first)
	run(t, tree.Dir(), "sh", "-ec", "mv x.bin~"+theirs+" x.bin; rm x.bin~*")
	made, err := tree.Commit(t.Context(), Changes{Start: k.Commit, Message: "m", Author: Author{"m", "m@x"}, Parents: []string{ours, theirs}}, []string{k.Commit}, Artefact("r"))
	if err != nil {
		t.Fatal(err)
	}
	if why, err := Settles(t.Context(), s, made.Commit, k.Commit); err != nil || why != "" {
		t.Errorf("settled: %q %v", why, err)
	}
	if got := run(t, s.Dir, "git", "--git-dir=.", "show", made.Commit+":x.bin"); strings.TrimSpace(got) != strings.TrimSpace(second) {
		t.Errorf("x.bin is %q", got)
	}
}

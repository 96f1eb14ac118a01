package llm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
)

func at(n int) *int        { return &n }
func str(s string) *string { return &s }

func TestEdit(t *testing.T) {
	const text = "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 1\n}\n"
	for name, c := range map[string]struct {
		call  editCall
		reply string // or the error
		file  string
	}{
		"view":              {editCall{Command: "view"}, "     1\tfunc a() {\n     2\t\treturn 1\n", text},
		"view a part":       {editCall{Command: "view", ViewRange: []int{5, 6}}, "     5\tfunc b() {\n     6\t\treturn 1\n", text},
		"view beyond":       {editCall{Command: "view", ViewRange: []int{8, 9}}, "view_range is [8 9]; the file has 7 lines", text},
		"replace":           {editCall{Command: "str_replace", OldStr: str("func a() {\n\treturn 1"), NewStr: str("func a() {\n\treturn 2")}, "     2\t\treturn 2\n", strings.Replace(text, "1", "2", 1)},
		"delete":            {editCall{Command: "str_replace", OldStr: str("func a() {\n\treturn 1\n}\n\n")}, "     1\tfunc b() {\n", "func b" + after(text, "func b")},
		"twice":             {editCall{Command: "str_replace", OldStr: str("return 1"), NewStr: str("return 2")}, "old_str is in the file 2 times, at the lines 2, 6: add lines around it", text},
		"never":             {editCall{Command: "str_replace", OldStr: str("func c() {\n\treturn 3"), NewStr: str("x")}, "old_str is not in the file. The nearest text is at line 1:\n     1\tfunc a() {\n     2\t\treturn 1\n", text},
		"other white space": {editCall{Command: "str_replace", OldStr: str("func b() {\n    return 1\n}"), NewStr: str("x")}, "The text at line 5 differs from it in white space alone:\n     5\tfunc b() {\n", text},
		"nothing like it":   {editCall{Command: "str_replace", OldStr: str("ZZZ @@@ ZZZ"), NewStr: str("x")}, "and nothing like it", text},
		"the same":          {editCall{Command: "str_replace", OldStr: str("return"), NewStr: str("return")}, "are the same", text},
		"no old text":       {editCall{Command: "str_replace", NewStr: str("x")}, "old_str is missing", text},
		"insert first":      {editCall{Command: "insert", InsertLine: at(0), NewStr: str("package x\n")}, "     1\tpackage x\n     2\tfunc a() {\n", "package x\n" + text},
		"insert last":       {editCall{Command: "insert", InsertLine: at(7), InsertText: str("end")}, "     8\tend\n", text + "end\n"},
		"insert beyond":     {editCall{Command: "insert", InsertLine: at(8), NewStr: str("x")}, "insert_line is 8; the file has 7 lines", text},
		"insert nothing":    {editCall{Command: "insert", InsertLine: at(1)}, "insert needs insert_line and new_str", text},
		"create in place":   {editCall{Command: "create", FileText: str("new")}, "The file was there", "new"},
		"create nothing":    {editCall{Command: "create"}, "file_text is missing", text},
		"another command":   {editCall{Command: "undo_edit"}, `there is no command "undo_edit"`, text},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := errors.Join(os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o755), os.Chmod(filepath.Join(dir, "f"), 0o755)); err != nil { // whatever the umask
				t.Fatal(err)
			}
			tree, err := openTree(dir, blackboard.ReadWrite)
			if err != nil {
				t.Fatal(err)
			}
			defer tree.close()
			c.call.Path = "f"
			reply, err := tree.edit(c.call)
			if err != nil {
				reply = err.Error()
			}
			if !strings.Contains(reply, c.reply) {
				t.Errorf("got  %q\nwant %q", reply, c.reply)
			}
			if got, _ := os.ReadFile(filepath.Join(dir, "f")); string(got) != c.file || tree.changed != (c.file != text) {
				t.Errorf("the file is %q, changed %v", got, tree.changed)
			}
			if info, _ := os.Stat(filepath.Join(dir, "f")); info.Mode().Perm() != 0o755 {
				t.Errorf("its mode is %v", info.Mode())
			}
		})
	}
}

func TestEditOtherFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"binary": "a\x00b", "latin": "\xe4", "no-end": "last", "big": strings.Repeat("x", mostFile+1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := openTree(dir, blackboard.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.close()
	for _, c := range []struct {
		call editCall
		want string
	}{
		{editCall{Command: "view", Path: "binary"}, "binary: the file is no text"},
		{editCall{Command: "view", Path: "latin"}, "latin: the file is no text"},
		{editCall{Command: "view", Path: "big"}, "at most 4194304 can be looked at"},
		{editCall{Command: "view", Path: "gone"}, "gone: there is no such file"},
		{editCall{Command: "view"}, "the path is missing"},
		{editCall{Command: "insert", Path: "no-end", InsertLine: at(1), NewStr: str("x")}, "     1\tlast\n     2\tx\n"},
		{editCall{Command: "create", Path: "a/b/c", FileText: str("x")}, "The file is there now"},
		{editCall{Command: "create", Path: "a", FileText: str("x")}, "a: it is no ordinary file"},
		{editCall{Command: "create", Path: "a/b/c/d", FileText: str("x")}, "file exists"},
		{editCall{Command: "create", Path: ".", FileText: str("x")}, "it is a directory"},
		{editCall{Command: "view", Path: dir + "/a/b"}, "a/b/c\n"},
	} {
		reply, err := tree.edit(c.call)
		if err != nil {
			reply = err.Error()
		}
		if !strings.Contains(reply, c.want) {
			t.Errorf("%+v: got %q, want %q", c.call, reply, c.want)
		}
	}
}

func TestSearch(t *testing.T) {
	r := newTrial(t, writer, done)
	many := strings.Repeat("needle\n", 150)
	if err := os.WriteFile(filepath.Join(r.dir, "many"), []byte(many), 0o644); err != nil {
		t.Fatal(err)
	}
	tree, err := openTree(r.dir, blackboard.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.close()
	for _, c := range []struct {
		call searchCall
		want string
	}{
		{searchCall{Pattern: "println("}, "main.go:4: \tprintln(\"hello\")\n"},
		{searchCall{Pattern: `println\(`, Regexp: true}, "main.go:4:"},
		{searchCall{Pattern: "(", Regexp: true}, "no regular expression"},
		{searchCall{Pattern: "t.o", Path: "docs"}, "Nothing found"},
		{searchCall{Pattern: "two", Path: "docs/a.txt"}, "docs/a.txt:2: two\n"},
		{searchCall{Pattern: "two", Path: "gone"}, "there is no such file"},
		{searchCall{}, "the pattern is empty"},
		{searchCall{Pattern: "needle"}, "many:100: needle\n… there may be more"},
	} {
		reply, err := tree.search(t.Context(), c.call)
		if err != nil {
			reply = err.Error()
		}
		if !strings.Contains(reply, c.want) {
			t.Errorf("%+v: got %q, want %q", c.call, reply, c.want)
		}
	}
}

// after is the part of a text behind a mark.
func after(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	return rest
}

package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"sett/roles/role/modelclient"
)

// editCall has the arguments of the tool edit, which are those of the editor that models
// know as str_replace_editor. insert_text is another name of new_str.
type editCall struct {
	Command    string  `json:"command"`
	Path       string  `json:"path"`
	FileText   *string `json:"file_text"`
	OldStr     *string `json:"old_str"`
	NewStr     *string `json:"new_str"`
	InsertLine *int    `json:"insert_line"`
	InsertText *string `json:"insert_text"`
	ViewRange  []int   `json:"view_range"`
}

const editHelp = `Look at files and change them. Paths are relative to the working directory.
view: a file with line numbers, or a directory two levels deep. view_range [first, last] shows a part; last may be -1.
create: writes file_text as the whole file, also in place of one.
str_replace: puts new_str in place of old_str, which must be in the file exactly once, to the last space. Add lines around it until it is unique.
insert: puts new_str after the line insert_line; 0: at the beginning.`

func (l *loop) editTool() tool {
	commands := []string{"view", "create", "str_replace", "insert"}
	if !l.tree.writable {
		commands = commands[:1]
	}
	return tool{
		Tool: modelclient.Tool{Name: "edit", Description: editHelp, Schema: schema(map[string]any{
			"command":     map[string]any{"type": "string", "enum": commands, "description": "The kind of the edit."},
			"path":        text("The file."),
			"file_text":   text("Of create: the whole text of the file."),
			"old_str":     text("Of str_replace: the text to replace."),
			"new_str":     text("Of str_replace and insert: the new text."),
			"insert_line": map[string]any{"type": "integer", "description": "Of insert."},
			"view_range":  map[string]any{"type": "array", "items": map[string]any{"type": "integer"}, "description": "Of view."},
		}, "command", "path")},
		line: func(arguments json.RawMessage) string {
			var c editCall
			_ = json.Unmarshal(arguments, &c) // the call reports a broken one
			return c.Command + " " + c.Path
		},
		call: func(_ context.Context, arguments json.RawMessage) (string, *result, error) {
			var c editCall
			if err := decode(arguments, &c); err != nil {
				return "", nil, err
			}
			reply, err := l.tree.edit(c)
			return reply, nil, err
		},
	}
}

func (t *tree) edit(c editCall) (string, error) {
	at, err := t.resolve(c.Path)
	if err == nil && c.Path == "" {
		err = errors.New("the path is missing")
	}
	if err == nil {
		var reply string
		if reply, err = t.editAt(at, c); err == nil {
			return reply, nil
		}
	}
	return "", fmt.Errorf("%s: %w", oneLine(c.Path), err)
}

func (t *tree) editAt(at string, c editCall) (string, error) {
	switch c.Command {
	case "view":
		return t.view(at, c.ViewRange)
	case "create":
		if c.FileText == nil {
			return "", errors.New("file_text is missing")
		}
		_, err := t.root.Lstat(at)
		was := err == nil
		if err := t.write(at, *c.FileText); err != nil {
			return "", err
		}
		if was {
			return "The file was there, and has the new text now.", nil
		}
		return "The file is there now.", nil
	case "str_replace":
		return t.replace(at, c)
	case "insert":
		return t.insert(at, c)
	}
	return "", fmt.Errorf("there is no command %q: view, create, str_replace or insert", oneLine(c.Command))
}

func (t *tree) view(at string, between []int) (string, error) {
	if info, err := t.root.Stat(at); err == nil && info.IsDir() {
		return t.list(at)
	}
	text, err := t.read(at)
	if err != nil {
		return "", err
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", errors.New("the file is no text")
	}
	lines := splitLines(text)
	from, to := 1, len(lines)
	if len(between) > 0 {
		if len(between) != 2 || between[0] < 1 || between[0] > max(1, len(lines)) || between[1] != -1 && between[1] < between[0] {
			return "", fmt.Errorf("view_range is %v; the file has %s, and [first, last] counts from 1", between, count(len(lines), "line"))
		}
		if from = between[0]; between[1] != -1 {
			to = min(to, between[1])
		}
	}
	if len(lines) == 0 {
		return "The file is empty.", nil
	}
	return numbered(lines, from, to), nil
}

// list shows a directory two levels deep.
func (t *tree) list(at string) (string, error) {
	var b strings.Builder
	depth := strings.Count(at, "/")
	if at == "." {
		depth = -1
	}
	all, err := t.walk(at, func(name string, d fs.DirEntry) error {
		if name == at {
			return nil
		}
		b.WriteString(name)
		if d.IsDir() {
			b.WriteString("/")
		}
		b.WriteString("\n")
		if d.IsDir() && strings.Count(name, "/")-depth >= 2 {
			return fs.SkipDir
		}
		return nil
	})
	if !all {
		b.WriteString("… and more\n")
	}
	if b.Len() == 0 {
		b.WriteString("The directory is empty.\n")
	}
	return b.String(), plain(err)
}

// splitLines splits a text after its line feeds; the last line may have none.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// numbered shows lines with their numbers, counted from 1.
func numbered(lines []string, from, to int) string {
	var b strings.Builder
	for i := max(1, from); i <= min(to, len(lines)); i++ {
		fmt.Fprintf(&b, "%6d\t%s\n", i, strings.TrimRight(lines[i-1], "\r\n"))
	}
	return b.String()
}

// around is the number of lines that are shown before and after a change.
const around = 4

func (t *tree) replace(at string, c editCall) (string, error) {
	if c.OldStr == nil || *c.OldStr == "" {
		return "", errors.New("old_str is missing")
	}
	if err := t.mayWrite(at); err != nil {
		return "", err
	}
	text, err := t.read(at)
	if err != nil {
		return "", err
	}
	before, after := *c.OldStr, ""
	if c.NewStr != nil {
		after = *c.NewStr
	}
	if before == after {
		return "", errors.New("old_str and new_str are the same")
	}
	if strings.Contains(text, "\r\n") && !strings.Contains(before, "\r") { // models write plain line ends
		before, after = strings.ReplaceAll(before, "\n", "\r\n"), strings.ReplaceAll(strings.ReplaceAll(after, "\r\n", "\n"), "\n", "\r\n")
	}
	switch n := strings.Count(text, before); {
	case n == 0:
		return "", errors.New("old_str is not in the file" + nearest(text, before))
	case n > 1:
		return "", fmt.Errorf("old_str is in the file %d times, at the lines %s: add lines around it until it is unique", n, places(text, before))
	}
	i := strings.Index(text, before)
	text = text[:i] + after + text[i+len(before):]
	if err := t.write(at, text); err != nil {
		return "", err
	}
	first := 1 + strings.Count(text[:i], "\n")
	last := first + strings.Count(after, "\n")
	return "Replaced. The lines are now:\n" + numbered(splitLines(text), first-around, last+around), nil
}

// places lists the lines at which a text begins.
func places(text, part string) string {
	const most = 20
	var all []string
	for i := 0; len(all) < most; {
		j := strings.Index(text[i:], part)
		if j < 0 {
			break
		}
		all = append(all, fmt.Sprint(1+strings.Count(text[:i+j], "\n")))
		i += j + len(part)
	}
	return strings.Join(all, ", ")
}

func (t *tree) insert(at string, c editCall) (string, error) {
	added := c.NewStr
	if added == nil {
		added = c.InsertText
	}
	if c.InsertLine == nil || added == nil {
		return "", errors.New("insert needs insert_line and new_str")
	}
	if err := t.mayWrite(at); err != nil {
		return "", err
	}
	text, err := t.read(at)
	if err != nil {
		return "", err
	}
	lines := splitLines(text)
	line := *c.InsertLine
	if line < 0 || line > len(lines) {
		return "", fmt.Errorf("insert_line is %d; the file has %s", line, count(len(lines), "line"))
	}
	end := "\n"
	if strings.Contains(text, "\r\n") {
		end = "\r\n"
	}
	whole := strings.ReplaceAll(strings.ReplaceAll(strings.TrimSuffix(*added, "\n"), "\r\n", "\n"), "\n", end) + end
	head := strings.Join(lines[:line], "")
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += end
	}
	text = head + whole + strings.Join(lines[line:], "")
	if err := t.write(at, text); err != nil {
		return "", err
	}
	last := line + strings.Count(whole, "\n")
	return "Inserted. The lines are now:\n" + numbered(splitLines(text), line+1-around, last+around), nil
}

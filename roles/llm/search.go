package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"sett/roles/role/modelclient"
)

const (
	mostMatches = 100
	mostLine    = 200 // bytes of a line that is shown
)

type searchCall struct {
	Pattern string `json:"pattern"`
	Regexp  bool   `json:"regexp"`
	Path    string `json:"path"`
}

func (l *loop) searchTool() tool {
	return tool{
		Tool: modelclient.Tool{
			Name: "search", Description: fmt.Sprintf("Find lines in the files of the working directory, at most %d.", mostMatches),
			Schema: schema(map[string]any{
				"pattern": text("The text to find in a line."),
				"regexp":  map[string]any{"type": "boolean", "description": "The pattern is a regular expression in the syntax of RE2."},
				"path":    text("The file or directory to search; left out: all."),
			}, "pattern"),
		},
		line: func(arguments json.RawMessage) string {
			var c searchCall
			_ = json.Unmarshal(arguments, &c) // the call reports a broken one
			return c.Pattern
		},
		call: func(ctx context.Context, arguments json.RawMessage) (string, *result, error) {
			var c searchCall
			if err := decode(arguments, &c); err != nil {
				return "", nil, err
			}
			reply, err := l.tree.search(ctx, c)
			return reply, nil, err
		},
	}
}

func (t *tree) search(ctx context.Context, c searchCall) (string, error) {
	if c.Pattern == "" {
		return "", errors.New("the pattern is empty")
	}
	matches := func(line string) bool { return strings.Contains(line, c.Pattern) }
	if c.Regexp {
		re, err := regexp.Compile(c.Pattern)
		if err != nil {
			return "", fmt.Errorf("the pattern is no regular expression: %w", err)
		}
		matches = re.MatchString
	}
	at, err := t.resolve(c.Path)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	found := 0
	all, err := t.walk(at, func(name string, d fs.DirEntry) error {
		if ctx.Err() != nil || found >= mostMatches {
			return fs.SkipAll
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := t.read(name)
		if err != nil || strings.ContainsRune(text, 0) {
			return nil // no text, or too long
		}
		for i, line := range splitLines(text) {
			if line = strings.TrimRight(line, "\r\n"); matches(line) && found < mostMatches {
				found++
				fmt.Fprintf(&b, "%s:%d: %s\n", name, i+1, cut(line))
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return "", plain(err)
	case found == 0:
		b.WriteString("Nothing found.\n")
	case found >= mostMatches || !all:
		b.WriteString("… there may be more: search for less.\n")
	}
	return b.String(), nil
}

func cut(line string) string {
	if len(line) <= mostLine {
		return line
	}
	return strings.ToValidUTF8(line[:mostLine], "") + "…"
}

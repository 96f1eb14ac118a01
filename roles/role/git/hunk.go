package git

import (
	"context"
	"strings"

	"sett/roles/role"
)

// Hunk is one place where two sides changed the same lines.
type Hunk struct {
	File   string `json:"file"`
	Line   int    `json:"line"`   // of our file, from 1
	Ours   string `json:"ours"`   // the lines of the branch
	Theirs string `json:"theirs"` // the lines of the commit
}

// Bounds of the hunks that are named.
const (
	mostHunks    = 20
	mostHunkText = 2 << 10 // bytes of each side
	mostConflict = 1 << 20 // bytes of a file that hunks are looked for in
)

// Hunks returns the places of a conflict, twenty at most. Files without marked lines
// have none: binary ones, or one that a side removed.
func Hunks(ctx context.Context, g Repository, c *Conflict) ([]Hunk, error) {
	if c.tree == "" {
		return []Hunk{}, nil
	}
	return HunksOf(ctx, g, c.tree, c.Files)
}

// HunksOf is Hunks of files in a tree that git wrote.
func HunksOf(ctx context.Context, g Repository, tree string, files []string) ([]Hunk, error) {
	hunks := []Hunk{}
	for _, file := range files {
		if len(hunks) >= mostHunks {
			break
		}
		text, err := g.Run(ctx, "cat-file", "blob", tree+":"+file)
		switch {
		case ctx.Err() != nil:
			return nil, err
		case err != nil || len(text) > mostConflict: // removed by one side, or a submodule
			continue
		}
		hunks = append(hunks, marked(role.Clean(file), text)...)
	}
	return hunks[:min(len(hunks), mostHunks)], nil
}

// IsMark says whether a line is one that git puts around the sides of a conflict.
func IsMark(row string) bool {
	return strings.HasPrefix(row, "<<<<<<< ") || strings.HasPrefix(row, ">>>>>>> ") || strings.TrimRight(row, "\r\n") == "======="
}

// marked finds the hunks that git marked in a file.
func marked(file, text string) (hunks []Hunk) {
	const none, ours, theirs = 0, 1, 2
	side, line := none, 0
	var h Hunk
	for row := range strings.Lines(text) {
		switch {
		case side == none && strings.HasPrefix(row, "<<<<<<< "):
			side, h = ours, Hunk{File: file, Line: line + 1}
		case side == ours && strings.TrimRight(row, "\r\n") == "=======":
			side = theirs
		case side == theirs && strings.HasPrefix(row, ">>>>>>> "):
			h.Ours, h.Theirs = shortened(h.Ours), shortened(h.Theirs)
			hunks, side = append(hunks, h), none
		case side == ours:
			h.Ours += row
			line++
		case side == theirs:
			h.Theirs += row
		default:
			line++
		}
	}
	return hunks
}

// shortened is a side's text that is safe to show.
func shortened(text string) string {
	if len(text) > mostHunkText {
		text = strings.ToValidUTF8(text[:mostHunkText], "") + "…\n"
	}
	return role.CleanText(text)
}

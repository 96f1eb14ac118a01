package git

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sett/roles/role"
)

// Sides is the way in which the histories of two commits part.
type Sides struct {
	Joined bool     // they have history in common
	Behind int      // commits that only ours has
	Ahead  []string // commits that only theirs has, oldest first
	Merges bool     // there are merges among them
	Picks  []string // of Ahead, without merges and without those that ours has in another form

	base map[string]bool // commits of both at which they part
}

// Compare looks at the histories of two commits, in one run of git. Picks is known only
// with forms, which takes long where ours has many commits of its own.
func Compare(ctx context.Context, g Repository, ours, theirs string, forms bool) (Sides, error) {
	if ours == theirs {
		return Sides{Joined: true}, nil
	}
	args := []string{"rev-list", "--topo-order", "--parents", "--boundary", "--left-right"}
	if forms {
		args = append(args, "--cherry-mark")
	}
	out, err := g.Run(ctx, append(args, ours+"..."+theirs, "--")...)
	if err != nil {
		return Sides{}, err
	}
	s := Sides{base: map[string]bool{}}
	newer := map[string]bool{theirs: true} // what theirs reaches: newest first, so that a commit's children are known
	var picks []string
	for row := range strings.Lines(out) {
		fields := strings.Fields(row)
		if len(fields) == 0 || len(fields[0]) < 2 {
			return Sides{}, role.Fail(role.Environment, fmt.Errorf("compare commits: git rev-list says %q", role.Clean(row)), "")
		}
		mark, hash, parents := fields[0][0], fields[0][1:], fields[1:]
		switch {
		case mark == '-':
			s.base[hash] = true
			continue
		case !newer[hash]:
			s.Behind++
			continue
		}
		for _, p := range parents {
			newer[p] = true
		}
		s.Ahead = append(s.Ahead, hash)
		if len(parents) > 1 {
			s.Merges = true
		} else if mark != '=' {
			picks = append(picks, hash)
		}
	}
	s.Joined = len(s.base) > 0
	slices.Reverse(s.Ahead)
	if forms {
		slices.Reverse(picks)
		s.Picks = picks
	}
	return s, nil
}

// readCommit is what a rebase keeps of a commit.
type readCommit struct {
	tree, parent, message string
	author                []string // as environment variables
}

// readAll reads commits in one run of git. One in another encoding than UTF-8 is read anew.
func readAll(ctx context.Context, g Repository, hashes []string) ([]readCommit, error) {
	out, err := g.Feed(ctx, strings.Join(hashes, "\n")+"\n", "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	all := make([]readCommit, 0, len(hashes))
	for _, hash := range hashes {
		head, rest, _ := strings.Cut(out, "\n")
		size := 0
		if _, err := fmt.Sscanf(head, hash+" commit %d", &size); err != nil || len(rest) <= size {
			return nil, role.Fail(role.Environment, fmt.Errorf("read commit %s: git cat-file says %q", hash, role.Clean(head)), "")
		}
		c, plain := parseCommit(rest[:size])
		if out = rest[size+1:]; !plain {
			tree := c.tree
			if c, err = g.read(ctx, hash); err != nil {
				return nil, err
			}
			c.tree = tree
		}
		all = append(all, c)
	}
	return all, nil
}

// parseCommit reads a commit as git stores it. It is not plain when its text is not UTF-8, or
// its author is written in an old way.
func parseCommit(text string) (c readCommit, plain bool) {
	head, body, _ := strings.Cut(text, "\n\n")
	plain = true
	for row := range strings.Lines(head) {
		name, value, _ := strings.Cut(strings.TrimSuffix(row, "\n"), " ")
		switch name {
		case "tree":
			c.tree = value
		case "parent":
			if c.parent == "" {
				c.parent = value
			}
		case "encoding":
			plain = false
		case "author":
			who, date, ok := strings.Cut(value, "> ")
			person, address, both := strings.Cut(who, " <")
			plain = plain && ok && both && !nameless(person)
			c.author = []string{"GIT_AUTHOR_NAME=" + person, "GIT_AUTHOR_EMAIL=" + address, "GIT_AUTHOR_DATE=@" + date}
		}
	}
	c.message = strings.Trim(body, "\n") + "\n"
	return c, plain && c.tree != "" && c.author != nil && !strings.ContainsRune(body, 0)
}

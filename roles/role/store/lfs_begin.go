package store

// This file notices a tool that begins with git LFS in a repository that had none.

import (
	"context"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"sett/runtime/repofile"
)

// track notes that a tool begins with git LFS in a repository that had none: attributes of its own name it.
func track(t *Tree, changed []string) error {
	if contentMark(t.store) != "" || !slices.ContainsFunc(changed, func(name string) bool { return path.Base(name) == ".gitattributes" }) {
		return nil
	}
	root, err := os.OpenRoot(t.Dir())
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range changed {
		if path.Base(name) != ".gitattributes" {
			continue
		}
		f, err := repofile.Open(root, name)
		if err != nil {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(f, mostAttributes))
		_ = f.Close()
		if err == nil && strings.Contains(string(text), lfsAttribute) {
			return WriteWhole(contentMarkFile(t.store), "")
		}
	}
	return nil
}

// lfsAttribute gives a file to git LFS.
const lfsAttribute = "filter=lfs"

// mostAttributes bounds a file of attributes, in bytes.
const mostAttributes = 1 << 20

// begins notes that a tool begins with git LFS in a repository that had none: its git-lfs has content, or attributes
// that it commits name git LFS.
func (x *rewriting) begins(ctx context.Context, o Offer) error {
	if contentMark(x.store) != "" {
		return nil
	}
	has := hasTheirContent(o)
	if !has {
		var err error
		if has, err = x.attributed(ctx); err != nil {
			return refusal(err)
		}
	}
	if !has {
		return nil
	}
	return WriteWhole(contentMarkFile(x.store), "")
}

// hasTheirContent says whether a tool's git-lfs has made its directory of content.
func hasTheirContent(o Offer) bool {
	root, err := os.OpenRoot(o.Root)
	if err != nil {
		return false // there is no tool's repository
	}
	defer root.Close()
	info, err := root.Lstat(theirContent(o))
	return err == nil && info.IsDir()
}

// attributed says whether the tool's commits change files of attributes, and one of the last commit names git LFS.
func (x *rewriting) attributed(ctx context.Context) (bool, error) {
	const files = ":(glob)**/.gitattributes"
	look := func(stdin string, args ...string) (string, error) {
		c := x.command(stdin, append(args, "--", files)...)
		c.env = append(c.env, "GIT_LITERAL_PATHSPECS=0")
		return x.store.run(ctx, c)
	}
	if out, err := look(reach(x.commit, x.known), "rev-list", "--max-count=1", "--full-history", "--stdin"); err != nil || out == "" {
		return false, err
	}
	out, err := look("", "grep", "--text", "--fixed-strings", "--files-with-matches", "-e", lfsAttribute, x.commit)
	if exitCode(err) == 1 { // none has it
		err = nil
	}
	return out != "", err
}

// theirContent is the directory of the content that a tool's git-lfs has.
func theirContent(o Offer) string { return path.Join(path.Dir(o.Objects), "lfs", "objects") }

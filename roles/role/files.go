package role

import (
	"io/fs"
	"os"
	"strings"
)

// mostFiles is the most entries of a tree that TreeFiles looks at.
const mostFiles = 20_000

// TreeFiles lists the files of a private tree for a model's prompt, with / between names
// and without .git. It follows no link. It skips all that cannot be read.
func TreeFiles(dir string) (names []string) {
	seen := 0
	_ = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if seen++; seen > mostFiles {
			return fs.SkipAll
		}
		switch {
		case err != nil:
			return fs.SkipDir
		case strings.EqualFold(d.Name(), ".git") && d.IsDir():
			return fs.SkipDir
		case !d.IsDir() && !strings.EqualFold(d.Name(), ".git"):
			names = append(names, strings.ToValidUTF8(name, "\ufffd"))
		}
		return nil
	})
	return names
}

package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var branchForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\p{L}\p{N}_][\p{L}\p{N}_+=%-]*([./][\p{L}\p{N}_][\p{L}\p{N}_+=%-]*)*$`)
})

// plainBranch says whether a name can be a branch and a path: a file below refs/heads.
func plainBranch(name string) bool {
	return len(name) <= 200 && branchForm().MatchString(name) && !strings.HasSuffix(name, ".lock") && !strings.Contains(name, ".lock/")
}

// unsigned has git sign nothing of a tool's with the person's key, as that person's own settings may say: the tool is another
// author, and nobody is there to type a passphrase.
const unsigned = "[commit]\n\tgpgSign = false\n[tag]\n\tgpgSign = false\n\tforceSignAnnotated = false\n"

// lendRepository makes the tool's repository: with one branch, a copy of the index, and the store's objects.
func (t *Tree) lendRepository(p Plan) error {
	format, err := t.store.written()
	if err != nil {
		return err
	}
	dir := filepath.Join(t.Dir(), ".git")
	if !p.ReadOnly {
		if err := empty(t.GitDir()); err != nil {
			return err
		}
	} else {
		if err := t.pointTo(dir); err != nil {
			return err
		}
		dir = t.GitDir()
	}
	user := ""
	if p.User.Name != "" {
		user = fmt.Sprintf("[user]\n\tname = %q\n\temail = %q\n", p.User.Name, p.User.Email)
	}
	sparse := ""
	if len(t.care.Sparse) > 0 {
		sparse = "\tsparseCheckout = true\n\tsparseCheckoutCone = true\n"
	}
	files := map[string]string{
		"config":                  configOf(format, false) + "\tlogAllRefUpdates = true\n" + sparse + user + unsigned + "[gc]\n\tauto = 0\n",
		"objects/info/alternates": t.seen.Objects + "\n",
		"HEAD":                    p.Commit + "\n",
	}
	if sparse != "" {
		files["info/sparse-checkout"] = cones(t.care.Sparse)
	}
	if files["info/exclude"], err = ignored(t.store); err != nil {
		return err
	}
	for _, own := range t.own { // last: no pattern of the person's takes one back
		files["info/exclude"] += "/" + own + "\n"
	}
	if branch := p.Branch; plainBranch(branch) || p.Commit == "" {
		if !plainBranch(branch) {
			branch = "main"
		}
		files["HEAD"] = "ref: refs/heads/" + branch + "\n"
		if p.Commit != "" {
			files["refs/heads/"+branch] = p.Commit + "\n"
		}
	}
	if refs, stashes := packed(p.Refs); refs != "" {
		files["packed-refs"] = refs
		if stashes != "" {
			files["logs/"+stashRef] = stashes
		}
	}
	if ends, err := Boundary(t.store.Dir); err != nil {
		return err
	} else if len(ends) > 0 {
		files[shallowFile] = textOf(ends)
	}
	return t.withIndex(dir, files)
}

// withIndex makes a git directory of these files and a copy of the trusted index. The copy has the
// same time: git takes files that are not older than its index for changed, until it has looked.
func (t *Tree) withIndex(dir string, files map[string]string) error {
	text, err := os.ReadFile(t.index())
	if err == nil {
		files["index"] = string(text)
	} else if !gone(err) {
		return err
	}
	r := rooted{dir: dir, files: files, users: owners(t)}
	if err == nil {
		info, err := os.Stat(t.index())
		if err != nil {
			return err
		}
		r.indexed = info.ModTime()
	}
	return r.make()
}

// pointTo has a read-only tree name its repository, which lies elsewhere.
func (t *Tree) pointTo(file string) error {
	text := "gitdir: " + t.seen.Git + "\n"
	if same(file, text) {
		return nil
	}
	if err := RemoveAll(file); err != nil {
		return err
	}
	return writeNew(os.OpenFile, file, text)
}

// writeNew makes a file that is not there. It follows no link that took its place meanwhile.
func writeNew(open func(string, int, fs.FileMode) (*os.File, error), name, text string) error {
	f, err := open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// rooted is a git directory with these files, and nothing else.
type rooted struct {
	dir     string
	files   map[string]string
	indexed time.Time // of the file index; zero: there is none
	users   []int     // the files of others go; nil: of nobody
}

// folders that git expects.
var gitFolders = []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "hooks"}

// make makes the directory so, whatever a tool left there. A file that is as it should be
// stays: to compare it costs less than to write it.
func (r rooted) make() error {
	folders := map[string]bool{".": true}
	for _, name := range append(slices.Collect(maps.Keys(r.files)), gitFolders...) {
		if _, file := r.files[name]; !file {
			folders[name] = true
		}
		for in := path.Dir(name); !folders[in]; in = path.Dir(in) {
			folders[in] = true
		}
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	stay, err := r.keep(folders)
	if err != nil {
		return err
	}
	root, err := r.open()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for name := range folders {
		if !stay[name] && name != "." {
			if err := root.MkdirAll(name, 0o700); err != nil {
				return err
			}
		}
	}
	for name, text := range r.files {
		if !stay[name] {
			if err := writeNew(root.OpenFile, name, text); err != nil {
				return err
			}
		}
	}
	if r.indexed.IsZero() {
		return nil
	}
	return root.Chtimes("index", r.indexed, r.indexed)
}

// keep removes everything but these folders, and the files that are as they should be. It
// returns the names of all that stay.
func (r rooted) keep(folders map[string]bool) (stay map[string]bool, err error) {
	if err := mountsIn(r.dir).bar(r.dir); err != nil {
		return nil, err
	}
	stay = map[string]bool{}
	err = filepath.WalkDir(r.dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(r.dir, at)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		text, file := r.files[name]
		switch {
		case foreignEntry(d, r.users) && name != ".": // the directory itself was looked at
		case d.IsDir() && folders[name]:
			stay[name] = true
			return exact(at, d)
		case file && same(at, text):
			stay[name] = true
			return nil
		}
		if err := removeAll(at); err != nil {
			return err
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return stay, err
}

// open opens the directory, which is made where it is not there. A link that leads out of
// the directory above is an error: put there since the walk, it shall not have Sett write
// elsewhere.
func (r rooted) open() (*os.Root, error) {
	above, err := os.OpenRoot(filepath.Dir(r.dir))
	if err != nil {
		return nil, err
	}
	defer func() { _ = above.Close() }()
	name := filepath.Base(r.dir)
	if err := above.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return above.OpenRoot(name)
}

// exact lets the owner of a directory do all with it, and nobody else anything.
func exact(path string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil || info.Mode() == fs.ModeDir|0o700 {
		return err
	}
	return os.Chmod(path, 0o700)
}

// same says whether a file that a tool may have made is as Sett would write it. It follows no
// link and waits for no pipe.
func same(path, text string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Mode() != 0o600 || info.Size() != int64(len(text)) {
		return false
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Nlink != 1 { // the other name may be within a tool's reach
		return false
	}
	has := make([]byte, len(text))
	_, err = io.ReadFull(f, has)
	return err == nil && string(has) == text
}

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sett/roles/role/persontest"
)

// mine is the person's repository as the person last left it: each file below it, those of
// .git included, so HEAD, branches, refs, the index, the configuration, hooks, objects and the stash. Every test of an
// instance compares it before the person does anything, and at its end: nothing else may have changed it.
type mine struct {
	sync.Mutex
	files map[string]string // as contentsOf says; nil: the person has not begun
}

// wrote has the text of each file that a test wrote by itself, in the person's place.
var wrote sync.Map

// persons says whether git works in the person's repository, and not on the instance's store.
func (in *instance) persons(args []string) bool { return !strings.HasPrefix(args[0], "--git-dir") }

// act is a thing that the person does with the repository, from now until done is called. All that was there is compared first.
func (in *instance) act(what string) (done func()) {
	in.t.Helper()
	in.mine.Lock()
	in.compare("before " + what)
	return func() {
		in.mine.files = contentsOf(in.t, in.repo)
		in.mine.Unlock()
	}
}

// leftAlone fails the test if anything but the person has changed the repository.
func (in *instance) leftAlone(when string) {
	in.t.Helper()
	in.mine.Lock()
	defer in.mine.Unlock()
	in.compare(when)
}

func (in *instance) compare(when string) {
	in.t.Helper()
	if in.mine.files == nil {
		return
	}
	is := contentsOf(in.t, in.repo)
	for _, d := range persontest.Differences(in.mine.files, is, in.byTest) {
		in.t.Errorf("%s: %s", when, d)
	}
	in.mine.files = is
}

// testsOwn says whether a file is there for a test alone: a notifier's command, which is the
// person's own, has and writes some.
func testsOwn(path string) bool {
	own := []string{"notify", "tell", "told", "began", "leave", "one", "two", "engine.sock"}
	return filepath.Base(filepath.Dir(path)) == ".git" && slices.Contains(own, filepath.Base(path))
}

// byTest says whether a file is as the test itself wrote it, or a directory of such files.
func (in *instance) byTest(path, now string) bool {
	if testsOwn(path) {
		return true
	}
	text, ok := wrote.Load(path)
	if ok {
		return strings.HasSuffix(now, " "+persontest.Digest([]byte(text.(string))))
	}
	if strings.HasPrefix(now, "d") {
		inside := false
		wrote.Range(func(file, _ any) bool {
			inside = strings.HasPrefix(file.(string), path+string(filepath.Separator))
			return !inside
		})
		return inside
	}
	return false
}

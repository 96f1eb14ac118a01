package ui

import (
	"errors"
	"fmt"
	"html"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Opener has the desktop open a page. All users of a machine see the arguments of each
// other's programs, and the page's address has a token. So the desktop is given the path
// of a file that leads to the address, and that its user alone can read.
type Opener struct {
	Program string // that opens a file
	Dir     string // of the file
}

// OpenerDir is the directory for the file of an Opener: of two directories, the instance's
// and the user's own, the one that browsers read. A browser in a snap sees the second
// alone, and of that no hidden part.
func OpenerDir(instance, home string) string {
	if info, err := os.Stat(filepath.Join(home, "snap")); home != "" && err == nil && info.IsDir() {
		return home
	}
	return instance
}

// doorway is the content of the file. A browser follows it as a link from elsewhere, and
// names no file to the page.
const doorway = `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=%[1]s">
<title>Sett</title>
<p><a href="%[1]s">The page of Sett</a></p>
`

// Open asks the desktop to open the address of a server's page. The file is removed once the
// page is opened, or by the function that Open returns; both may happen.
func (o Opener) Open(s *Server, address string) (remove func(), err error) {
	path := filepath.Join(o.Dir, fmt.Sprintf("sett-%s-%d.html", s.Instance, s.port))
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a server that was killed
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	remove = func() { _ = os.Remove(path) }
	_, err = fmt.Fprintf(f, doorway, html.EscapeString(address))
	if err = errors.Join(err, f.Close()); err != nil {
		remove()
		return nil, err
	}
	s.entered = remove
	desktop := exec.Command(o.Program, path) //nolint:gosec // the desktop's own, and a path of ours
	if err := desktop.Start(); err != nil {
		remove()
		return nil, err
	}
	go func() { _ = desktop.Wait() }()
	return remove, nil
}

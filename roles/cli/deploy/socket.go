package deploy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sett/roles/cli/instance"
	"sett/roles/role"
)

// allowedImages is the name of the list of foreign images that may get the engine's
// socket, below the user's configuration directory. No repository can write it.
const allowedImages = "orchestrator-images"

// allowedLimit bounds the reading of that list.
const allowedLimit = 1 << 20

// allowedPath returns the place of the list; empty: this user has none.
func allowedPath(getenv func(string) string) string {
	return instance.UserPath(getenv, allowedImages)
}

// allowOrchestrator refuses a foreign image for the orchestrator, which gets the engine's
// socket, unless the user's own list has the image's id. An image without an id has yet
// to be pulled.
func (j *job) allowOrchestrator(i containerImage) error {
	if i.ID == "" {
		return nil
	}
	path := allowedPath(j.at.Getenv)
	allowed, err := isAllowed(path, i.ID, j.in.Workspace)
	if err != nil {
		return role.Fail(role.Usage, fmt.Errorf("read the images that may get the engine's socket: %w", err),
			"a list that counts is a file of yours outside the repository, which nobody else can write")
	}
	if allowed {
		return nil
	}
	return role.Fail(role.Usage,
		fmt.Errorf("services.orchestrator.image: %s would get the engine's socket, and you have not allowed its digest, %s", role.Clean(i.Ref), role.Clean(i.ID)),
		"take the key out of %s, or allow the image: echo %s >>%s", instance.ConfigName, role.Clean(i.ID), path)
}

// isAllowed says whether the list at path has an image's id as the first word of a line.
// It refuses a list that lies in the workspace, and one that other users can write.
func isAllowed(path, id, workspace string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO must not hang the start
	switch {
	case path == "" || errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	place, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false, err
	}
	root, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return false, err
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is no regular file", path)
	case instance.Within(place, root):
		return false, fmt.Errorf("%s lies in the repository", path)
	case info.Mode().Perm()&0o022 != 0:
		return false, fmt.Errorf("%s can be written by other users", path)
	case known && owner.Uid != 0 && int(owner.Uid) != os.Geteuid():
		return false, fmt.Errorf("%s belongs to another user", path)
	}
	lines := bufio.NewScanner(io.LimitReader(f, allowedLimit))
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) > 0 && words[0] == id {
			return true, nil
		}
	}
	return false, lines.Err()
}

package toolrun

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// defaultPath is the PATH of a tool without one.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// lookPath finds a program as the tool itself would, by the PATH of its own
// environment. It ignores relative directories of the PATH: otherwise the program
// would depend on files of the workspace.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := defaultPath
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && unix.Access(file, unix.X_OK) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("no such program in PATH (%s)", path)
}

// explain turns an error of fork, chdir or exec into its reason. It runs only after a
// failure, so its look-ups do not slow a good start.
func explain(cause error, path, dir string) error {
	if dir != "" {
		if info, err := os.Stat(dir); err != nil {
			return fmt.Errorf("working directory %s: %w", dir, reason(err))
		} else if !info.IsDir() {
			return fmt.Errorf("working directory %s: %w", dir, unix.ENOTDIR)
		}
		if unix.Access(dir, unix.X_OK) != nil {
			return fmt.Errorf("working directory %s: %w", dir, unix.EACCES)
		}
	}
	file := path
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return reason(err)
	case info.IsDir():
		return fmt.Errorf("%w, not a program", unix.EISDIR)
	case errors.Is(cause, unix.ENOENT):
		return missingInterpreter(file)
	case errors.Is(cause, unix.EACCES) && info.Mode()&0o111 == 0:
		return fmt.Errorf("%w: the file is not executable (chmod +x)", cause)
	case errors.Is(cause, unix.EACCES) && unix.Access(file, unix.X_OK) != nil: // which is refused by a file system, too
		return fmt.Errorf("%w: the file has mode %s; its file system (noexec) or its owner does not allow this user to execute it", cause, info.Mode())
	case errors.Is(cause, unix.EACCES):
		return fmt.Errorf("%w: its interpreter may not be executed", cause)
	case errors.Is(cause, unix.ENOEXEC):
		return fmt.Errorf("%w: neither a program for this machine nor a script with a #! line", cause)
	}
	return cause
}

// missingInterpreter explains ENOENT for a file that exists.
func missingInterpreter(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return reason(err)
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	rest, script := strings.CutPrefix(string(line), "#!")
	if !script {
		return fmt.Errorf("%w: the file exists, but the loader it was linked for does not", unix.ENOENT)
	}
	rest = strings.Trim(strings.TrimRight(rest, "\n"), " \t")
	if i := strings.IndexAny(rest, " \t"); i >= 0 {
		rest = rest[:i]
	}
	if strings.HasSuffix(string(line), "\r\n") {
		return fmt.Errorf("%w: the script's lines end as on Windows, so that its first line names %q: sed -i 's/\\r$//' mends it", unix.ENOENT, strings.TrimRight(rest, "\r")+"\r")
	}
	return fmt.Errorf("%w: the file exists, but its interpreter %q does not", unix.ENOENT, rest)
}

// reason strips the operation and the path, which the message has already.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

package role

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Runnable returns the reason why a program cannot be run from a directory, if any: there
// is none of the name, it may not be executed, or its first line names an interpreter that is not here.
func Runnable(program, root string) error {
	named := program
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		program = filepath.Join(root, program)
	}
	found, err := exec.LookPath(program)
	if err != nil {
		return errors.Unwrap(err)
	}
	if info, err := os.Stat(found); err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for its other end
		return errors.New("not a regular file")
	}
	return interpreted(found, named)
}

// toUnix are the words to mend a script of Windows. Where it is a file of the repository git would write it so again, by
// core.autocrlf, and an attribute keeps it from that.
func toUnix(named string) string {
	command := "sed -i 's/\\r$//' " + ShellWord(named)
	if !strings.Contains(named, "/") || filepath.IsAbs(named) {
		return command + " mends it"
	}
	files := path.Base(named)
	if ext := path.Ext(named); ext != "" {
		files = "*" + ext
	}
	return "to mend it for good: echo " + ShellWord(files+" text eol=lf") + " >>.gitattributes && " + command + ", and commit both"
}

// mostShebang is as much of a script's first line as Linux reads, in bytes.
const mostShebang = 256

// interpreted returns the reason why the interpreter in the first line of a script cannot
// be run, if any. The kernel says only that there is no such file. The script has that name for people.
func interpreted(script, named string) error {
	f, err := os.Open(script)
	if err != nil {
		return nil // a program may be run by those who cannot read it
	}
	defer f.Close()
	head := make([]byte, mostShebang)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	line, _, whole := bytes.Cut(head[:n], []byte("\n"))
	text, marked := strings.CutPrefix(string(line), "#!")
	if !marked {
		return nil
	}
	if whole && strings.HasSuffix(text, "\r") {
		return fmt.Errorf("its lines end as on Windows, and no program is called %q; %s", path.Base(strings.TrimSpace(text))+"\r", toUnix(named))
	}
	words := strings.Fields(text)
	switch {
	case len(words) == 0:
		return errors.New("its first line #! names no interpreter")
	case !isProgram(words[0]):
		return fmt.Errorf("its interpreter %s is not here", words[0])
	case path.Base(words[0]) != "env":
		return nil
	}
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			continue
		}
		if _, err := exec.LookPath(word); err != nil {
			return fmt.Errorf("its interpreter %s is not in the PATH", word)
		}
		return nil
	}
	return nil
}

// isProgram says whether a path leads to a file that may be run.
func isProgram(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

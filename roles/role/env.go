// Package role is shared by all roles of the binary: their environment, exit codes,
// logs, and the server of health and metrics. It knows no role.
package role

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/term"

	"sett/blackboard"
)

// Build is the version and the commit of the binary.
type Build struct {
	Version string
	Commit  string
}

// String names the build.
func (b Build) String() string { return fmt.Sprintf("%s (commit %s)", b.Version, b.Commit) }

// Env is the environment of a role: everything outside that it reads or writes.
// Tests pass their own.
type Env struct {
	Args    []string // without the program's and the role's name
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Lookup  func(string) (string, bool)
	Environ func() []string
	Now     func() time.Time
	Entropy io.Reader
	Hurry   <-chan struct{} // closed at the second request to stop
	Build   Build
	Alone   bool // the process is there for this role alone: what falls to it is the role's
}

// OS returns the environment of this process.
func OS(args []string, b Build) Env {
	return Env{
		Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Lookup: os.LookupEnv, Environ: os.Environ,
		Now: time.Now, Entropy: rand.Reader, Build: b, Alone: true,
	}
}

// NewID returns a new id.
func (e Env) NewID() string { return blackboard.NewID(e.Now(), e.Entropy) }

// Getenv returns a variable's value, or the empty string.
func (e Env) Getenv(name string) string {
	v, _ := e.Lookup(name)
	return v
}

// IsTerminal says whether w is a terminal.
func IsTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	return term.IsTerminal(int(f.Fd()))
}

// WantsHelp says whether a role was asked for its help page.
func WantsHelp(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == "--help" || a == "-h" || a == "help" })
}

// Arguments handles the arguments of a role that takes none, because all of its
// settings come from environment variables. It prints the help page on request, and
// refuses any other argument with exit code Usage. When done is true, the role ends
// with err.
func (e Env) Arguments(name, help string) (done bool, err error) {
	if WantsHelp(e.Args) {
		_, err := fmt.Fprint(e.Stdout, help)
		return true, err
	}
	if len(e.Args) > 0 {
		return true, Fail(Usage, fmt.Errorf("%s: unexpected argument %q", name, e.Args[0]), "sett %s --help", name)
	}
	return false, nil
}

// SightFile is the file beside the orchestrator's configuration with its last sight of the
// blackboard.
const SightFile = "sight"

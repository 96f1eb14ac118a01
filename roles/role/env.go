// Package role is what every role of the binary shares: the world it runs in,
// how it ends, how it logs, and its health and metrics server. It knows no role.
package role

import (
	"crypto/rand"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"sett/blackboard"
)

// Build says what was built.
type Build struct {
	Version string
	Commit  string
}

// Env is the world a role runs in. Tests pass their own.
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
}

// OS returns the world of this process.
func OS(args []string, b Build) Env {
	return Env{
		Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Lookup: os.LookupEnv, Environ: os.Environ,
		Now: time.Now, Entropy: rand.Reader, Build: b,
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
	for _, a := range args {
		if a == "--help" || a == "-h" || a == "help" {
			return true
		}
	}
	return false
}

package toolrun

import (
	"context"
	"io"
	"time"

	"sett/blackboard"
	"sett/roles/role/confine"
)

// DefaultGrace is the time between TERM and KILL.
const DefaultGrace = 5 * time.Second

// drainDelay is the time for more output after the tool's end, while another process
// holds its stdout or stderr open.
const drainDelay = 250 * time.Millisecond

// MarkVariable is added to every tool's environment. Its value names the run, so
// that a process which left the tool's session can still be attributed to it.
const MarkVariable = "SETT_TOOL_RUN"

// Command is one tool to run. It is never given to a shell.
type Command struct {
	// Args holds the program and its arguments. A program without a slash is
	// looked for in the absolute directories of the PATH in Env; a relative one
	// with a slash is relative to Dir.
	Args []string
	// Dir is the working directory; empty is this process's own.
	Dir string
	// Env is the whole environment, save for MarkVariable. Nothing is inherited.
	Env []string
	// Stdin is written to the tool, then its stdin is closed. A tool that does not
	// read it is no error.
	Stdin []byte
	// Timeout ends the tool that long after its start; 0 never.
	Timeout time.Duration
	// Expired is called when Timeout is over, before the tool is told, and must not
	// wait. May be nil.
	Expired func()
	// Grace is the time between TERM and KILL; 0 is DefaultGrace.
	Grace time.Duration
	// Limit is the most bytes of stdout and of stderr to keep, each; 0 is
	// blackboard.MaxCapture. Of more, the beginning and the end are kept, and a line
	// between them counts the bytes left out; a limit below 1 KiB has no room for that.
	Limit int64
	// Stderr gets a live copy of stderr, one Write per line with its newline (the
	// last may have none; one over 64 KiB comes in pieces). A writer that is slower
	// than the tool misses lines and is told how many bytes, but gets the last lines
	// before a pause and the end; the tool never waits for it. Run waits at most a
	// second for a Write that is under way. May be nil.
	Stderr io.Writer
	// Stdout gets such a copy of stdout. May be nil.
	Stdout io.Writer
	// NoNetwork keeps the tool and its processes off the network, even if this
	// process has one: they can open only sockets of this machine (AF_UNIX). Where
	// that cannot be enforced (not Linux, or a kernel or container profile without
	// seccomp filters) the tool does not start. Programs of the tool then gain no
	// privileges by a set-user-ID bit, and programs of another architecture end with
	// SIGSYS.
	NoNetwork bool
	// Confine keeps the tool and its processes from files of their user. Nil does not; for
	// local mode, since process 1 of a container does not guard itself from such a tool.
	// Where it cannot be enforced the tool does not start.
	Confine *confine.Rules
}

// Result is the end of a run.
type Result struct {
	ExitCode  int    // -1 when a signal ended the tool or it was not started
	Signal    string // the name of that signal, SIGKILL for example; else empty
	TimedOut  bool   // Timeout was over before the tool ended; any exit code is possible
	Cancelled bool   // the context was done before the tool ended
	// MemoryKill: during the run the kernel killed a process for memory. Never set where
	// the kernel does not tell.
	MemoryKill blackboard.MemoryKill
	// OutOfMemory: the tool itself, too, was killed (not by Run), or ended with exit code
	// 137 like a shell after the death of its child. Set with KilledOfTool alone: a tool
	// that shares its container may have been killed by somebody else.
	OutOfMemory bool

	Stdout, Stderr         []byte // whole up to Limit bytes; of more, see Limit
	StdoutSize, StderrSize int64  // bytes read, kept or not
	StdoutTruncated        bool   // there was more than Limit

	// Harm is damage that the tool did to this process and that cannot be undone, such
	// as a lower limit: this process has to end. Only in process 1 of a container; empty
	// otherwise.
	Harm string

	// EmptiedTmp is the reason if Run emptied /tmp, which is memory in a container: that
	// happens after a failed run, and when it is more than half full.
	EmptiedTmp string

	Started time.Time // just before the fork
	Reaped  time.Time // when the tool's own process was reaped
}

// Runner runs tools.
type Runner interface {
	// Run runs c to its end. The error is not nil only when the tool could not be
	// started; then it says why in one line. A context that is done before the
	// start gives a cancelled Result without a start.
	Run(ctx context.Context, c Command) (Result, error)
}

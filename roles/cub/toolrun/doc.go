// Package toolrun runs one tool subprocess so that nothing the tool does can hang
// or outlive the run: its own session and process group, stdin written and closed,
// output kept up to a limit and drained beyond it, a timeout, TERM, grace, KILL,
// and afterwards a sweep for processes that the tool left behind. It knows nothing of
// artefacts or of the JSON that goes through the pipes (see contract/tool).
//
// Each run is one thread in one poll(2) loop over the tool's pipes and its exit;
// there is no goroutine per stream, so a run costs little more than its fork, and
// there is one place that decides in which order things happen. The thread is
// locked for the whole run because the kernel sends the parent-death signal, with
// which a tool dies when the cub is killed, on the end of the thread that forked,
// not of the process (golang.org/issue/27505); a thread that a goroutine has
// locked is not ended by the Go runtime.
//
// A tool gets a session of its own rather than only a group: nothing below it can
// then join the process group of this process (setpgid does not cross sessions).
// So a child in our own group was started by other code here, through os/exec, and
// is left alone; every other child that is not a tool's own process is an orphan of
// a tool. Code in this process that gives its children a session
// or group of their own must therefore run them through this package, or start them
// with Start.
package toolrun

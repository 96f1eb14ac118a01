package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sett/blackboard"
	"sett/contract/config"
)

// End is the end of a tool's run.
type End struct {
	ExitCode        int
	Signal          string // that ended it; empty: none
	TimedOut        bool
	OutOfMemory     bool                  // the tool itself was killed for memory
	MemoryKill      blackboard.MemoryKill // a process was, during the run
	Timeout         time.Duration
	Call            time.Duration // for which a call of Model had no end at the timeout; 0: there was none
	Model           string
	Command         []string // and its arguments
	Stdout, Stderr  []byte
	StdoutSize      int64 // may be more than what was kept
	StdoutTruncated bool
}

// The exit codes by which a shell or env says that there was no program to run.
const (
	cannotRun = 126
	notFound  = 127
)

// mostOutput is the end of a check's output that its result keeps, in bytes.
const mostOutput = 4 << 10

// Read reads a tool's result from the end of its run, as its adapter does, and checks it
// against the phase of its grant. An error is the reason of a Failure. That the kernel
// killed a process for memory is in the error, or in the output's metadata.
func Read(a config.Adapter, phase blackboard.Phase, end End) (Output, error) {
	killed := end.MemoryKill.Text()
	out, err := read(a, phase, end)
	switch {
	case killed == "" || end.OutOfMemory:
	case err != nil:
		err = fmt.Errorf("%s; %w", killed, err)
	default:
		out, err = out.With(blackboard.MetadataMemoryKill, end.MemoryKill)
	}
	return out, err
}

func read(a config.Adapter, phase blackboard.Phase, end End) (Output, error) {
	if err := end.broken(); err != nil {
		return Output{}, err
	}
	var out Output
	var err error
	switch a.Kind {
	case config.AdapterCheck:
		return check(a, phase, end)
	case config.AdapterText:
		out, err = text(a, phase, end)
	case config.AdapterCommit:
		out, err = changes(a, phase, end)
	default:
		out, err = contract(phase, end)
	}
	if err == nil {
		out, err = Interpret(phase, out)
	}
	if err != nil {
		return Output{}, err
	}
	return typed(a, phase, out)
}

// Stdin returns what a tool reads on its stdin, from the contract's JSON.
func Stdin(a config.Adapter, contract []byte, target blackboard.Artefact) []byte {
	switch a.Stdin {
	case config.StdinPayload:
		return []byte(target.Payload)
	case config.StdinNone:
		return nil
	}
	return contract
}

// broken is the error of a run that did not come to its own end.
func (e End) broken() error {
	switch {
	case e.TimedOut:
		return fmt.Errorf("tool took longer than %s%s%s", e.Timeout, e.waiting(), e.complaint())
	case e.OutOfMemory:
		return errors.New("tool was killed: out of memory" + e.complaint())
	case e.Signal != "":
		return fmt.Errorf("tool was ended by %s%s", e.Signal, e.complaint())
	}
	return nil
}

// shortCall is a call that does not explain a timeout.
const shortCall = time.Second

// waiting says that the tool waited for its model at the timeout.
func (e End) waiting() string {
	if e.Call < shortCall {
		return ""
	}
	return fmt.Sprintf(", with a call of model %s open for %s", e.Model, e.Call.Round(100*time.Millisecond))
}

// failed is the error of an exit code, and of more output than is read.
func (e End) failed() error {
	switch {
	case e.ExitCode != 0:
		return fmt.Errorf("tool ended with exit code %d%s", e.ExitCode, e.complaint())
	case e.StdoutTruncated:
		return fmt.Errorf("tool wrote %d bytes to stdout; at most %d are read", e.StdoutSize, blackboard.MaxCapture)
	}
	return nil
}

// mostComplaint is the longest line of stderr in a reason, in bytes.
const mostComplaint = 400

// settError begins a line in which sett itself, as the tool, says why it fails. A hint or a
// difference may follow it.
const settError = "sett: error: "

// complaint is the last line of stderr that is not blank, for the reason of a Failure.
func (e End) complaint() string {
	line := lastLine(End{Stderr: e.Stderr})
	text := "\n" + tail(End{Stderr: e.Stderr})
	if at := strings.LastIndex(text, "\n"+settError); at >= 0 {
		line, _, _ = strings.Cut(text[at+1+len(settError):], "\n")
	}
	if line == "" {
		return ""
	}
	return ": " + middle(line, mostComplaint)
}

// middle cuts the middle out of a line with more than so many bytes, between words where it has
// any: a line begins with the failed step, and ends with the cause or with a command that helps.
func middle(line string, most int) string {
	if len(line) <= most {
		return line
	}
	begin, end := line[:most/2], line[len(line)-most/2:]
	if at := strings.LastIndexByte(begin, ' '); at > 0 {
		begin = begin[:at]
	}
	if at := strings.IndexByte(end, ' '); at >= 0 {
		end = end[at+1:]
	}
	return strings.ToValidUTF8(begin, "") + " … " + strings.ToValidUTF8(end, "")
}

// contract reads the tool contract's object. Under a review grant one without structural_type is a Review.
func contract(phase blackboard.Phase, end End) (Output, error) {
	if err := end.failed(); err != nil {
		return Output{}, err
	}
	if phase == blackboard.PhaseReview {
		return parseOutput(end.Stdout, blackboard.Review)
	}
	return ParseOutput(end.Stdout)
}

// text takes stdout, without its last line feed, as the payload. In a review, no text at
// all approves.
func text(a config.Adapter, phase blackboard.Phase, end End) (Output, error) {
	if err := end.failed(); err != nil {
		return Output{}, err
	}
	if !utf8.Valid(end.Stdout) {
		return Output{}, &ParseError{Reason: "stdout is not UTF-8", Offset: -1}
	}
	payload := strings.TrimSuffix(string(end.Stdout), "\n")
	if phase == blackboard.PhaseReview {
		if strings.TrimSpace(payload) == "" {
			payload = approval
		}
		return Output{StructuralType: blackboard.Review, Type: string(blackboard.Review), Payload: payload}, nil
	}
	return Output{StructuralType: blackboard.Standard, Type: made(a), Payload: payload}, nil
}

// approval is the payload of a Review that approves.
const approval = "{}"

// made is the type that an adapter gives its results. Sett.yml without one is an error, so
// that an empty type is left to the checks of types.
func made(a config.Adapter) string {
	if len(a.Makes) == 0 {
		return ""
	}
	return a.Makes[0]
}

// check makes a result of an exit code. A tool that lost a process for memory reports that
// by its exit code, as make does: it says nothing about the artefact, and is no verdict. Where
// the process may have been another's, the exit code counts: grants beside this one must
// not take its verdict away.
func check(a config.Adapter, phase blackboard.Phase, end End) (Output, error) {
	if end.ExitCode == cannotRun || end.ExitCode == notFound {
		return Output{}, fmt.Errorf("tool ended with exit code %d, there was no program to run%s", end.ExitCode, end.complaint())
	}
	said := a.FailOn == config.FailOnOutput && strings.TrimSpace(string(end.Stdout)) != ""
	bad := end.ExitCode != 0 || said
	if !bad && phase == blackboard.PhaseReview {
		return Output{StructuralType: blackboard.Review, Type: string(blackboard.Review), Payload: approval}, nil
	}
	payload, err := json.Marshal(struct {
		Exit   int    `json:"exit"`
		Output string `json:"output"`
	}{end.ExitCode, tail(end)})
	switch {
	case err != nil:
		return Output{}, err
	case phase == blackboard.PhaseReview && (end.ExitCode == 0 || end.MemoryKill != blackboard.KilledOfTool):
		return Output{StructuralType: blackboard.Review, Type: string(blackboard.Review), Payload: string(payload), Summary: lastLine(end)}, nil
	case end.ExitCode != 0:
		return Output{}, fmt.Errorf("tool ended with exit code %d%s", end.ExitCode, end.complaint())
	case said:
		return Output{}, fmt.Errorf("tool printed on stdout, and fail_on is output: %s", excerpt(lastLine(end)))
	}
	return typed(a, phase, Output{StructuralType: blackboard.Standard, Type: made(a), Payload: string(payload)})
}

// tail is the last part of a run's stdout and stderr, beginning with a whole line where
// that is possible.
func tail(end End) string {
	all := strings.ToValidUTF8(string(end.Stdout), "\ufffd")
	if len(end.Stderr) > 0 {
		if all != "" && !strings.HasSuffix(all, "\n") {
			all += "\n"
		}
		all += strings.ToValidUTF8(string(end.Stderr), "\ufffd")
	}
	if len(all) <= mostOutput {
		return all
	}
	all = all[len(all)-mostOutput:]
	if i := strings.IndexByte(all, '\n'); i >= 0 && i+1 < len(all) {
		all = all[i+1:]
	}
	return strings.ToValidUTF8(all, "")
}

// lastLine is the last line of a run's output that is not blank.
func lastLine(end End) string {
	lines := strings.Split(strings.TrimSpace(tail(end)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// typed checks the type of a result, and makes it final where sett.yml says so.
func typed(a config.Adapter, phase blackboard.Phase, out Output) (Output, error) {
	if out.StructuralType != blackboard.Standard && out.StructuralType != blackboard.Terminal {
		return out, nil
	}
	if len(a.Makes) > 0 && !slices.Contains(a.Makes, out.Type) {
		return Output{}, &ViolationError{Reason: fmt.Sprintf("artefact_type %s is not among those that the agent makes, %s", excerpt(out.Type), oneOf(out.Type, a.Makes))}
	}
	if out.Type == "" {
		return Output{}, &ViolationError{Reason: "the result has no type: add makes to the agent"}
	}
	if a.Terminal && phase == blackboard.PhaseExclusive {
		out.StructuralType = blackboard.Terminal
	}
	return out, nil
}

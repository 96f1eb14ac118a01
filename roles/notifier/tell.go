package notifier

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"sett/blackboard"
	"sett/contract/env"
	"sett/roles/cub/toolrun"
	"sett/roles/role"
)

// mostOutput is the logged part of the command's stdout, and of its stderr, in bytes of one run.
const mostOutput = 16 << 10

// exitRefused is the exit code of a command that will never take this event: EX_DATAERR of sysexits.h.
const exitRefused = 65

var (
	errStopping = errors.New("the notifier is stopping")                // the command was ended for that
	errRefused  = errors.New("the command refuses this event for good") // its exit code was exitRefused
)

// tell runs the command with the event of an entry until it succeeds, refuses the event for
// good, or the event is too old. The events after it wait, so that they keep their order. An error ends the
// notifier before the event was told.
func (n *notifier) tell(ctx context.Context, e blackboard.Event, a alert) error {
	log := n.log.With("event", a.kind, "workflow", e.Workflow, "artefact", a.artefact, "position", e.ID)
	for attempt := 0; ; attempt++ {
		v, stdin, err := n.read(ctx, e, a) // anew: the question may have been answered
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, blackboard.ErrUnavailable):
			return err
		case err != nil: // one bad record must not stop the events after it
			log.Error("event not told: it cannot be read", "error", err)
			return nil
		}
		if err = n.run(ctx, log, stdin); err == nil {
			log.Info("event told", "attempt", attempt+1)
			n.succeeded(ctx)
			return nil
		}
		if errors.Is(err, errStopping) {
			log.Info("command ended before it was done, its event is told again at the next start")
			return ctx.Err()
		}
		givenUp := errors.Is(err, errRefused) || attempt >= len(n.pace.again) && n.env.Now().Sub(e.Time) > n.pace.keep
		n.failed(ctx, e, a, err, givenUp)
		if givenUp {
			log.Error("event not told: given up", "attempts", attempt+1, "happened", e.Time, "error", err, "command_line", v.Command)
			return nil
		}
		pause := n.pace.again[min(attempt, len(n.pace.again)-1)]
		log.Warn("command failed", "attempt", attempt+1, "error", err, "again_in", pause)
		role.Pause(ctx, pause)
	}
}

// read makes the event of an entry, also as the command gets it.
func (n *notifier) read(ctx context.Context, e blackboard.Event, a alert) (v event, stdin []byte, err error) {
	err = n.patiently(ctx, func() (err error) {
		v, err = n.describe(ctx, e, a)
		return err
	})
	if err == nil {
		stdin, err = encode(v)
	}
	return v, stdin, err
}

// run runs the command once. It succeeds with exit code 0 within its time.
func (n *notifier) run(ctx context.Context, log *slog.Logger, stdin []byte) error {
	base, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer role.AfterGrace(ctx, n.pace.grace, n.env.Hurry, stop)() // at the second signal at once
	res, err := n.runner.Run(base, toolrun.Command{
		Args: n.settings.Command, Dir: n.settings.Workspace, Env: env.WithoutSecrets(n.env.Environ()),
		Stdin: stdin, Timeout: n.settings.Timeout, Limit: mostOutput, Stderr: newLineLogger(log, "stderr"),
	})
	if err != nil {
		return err
	}
	stdout := newLineLogger(log, "stdout")
	for line := range bytes.Lines(res.Stdout) {
		_, _ = stdout.Write(line)
	}
	if res.StdoutTruncated {
		stdout.cutOff()
	}
	log.Debug("command ended", "exit_code", res.ExitCode, "signal", res.Signal, "duration", res.Reaped.Sub(res.Started),
		"stdout_size", res.StdoutSize, "stderr_size", res.StderrSize)
	switch {
	case res.Cancelled:
		return errStopping
	case res.TimedOut:
		return fmt.Errorf("run %s: not done within %s", n.settings.Command[0], n.settings.Timeout)
	case res.Signal != "":
		return fmt.Errorf("run %s: ended by %s", n.settings.Command[0], res.Signal)
	case res.ExitCode == exitRefused:
		return fmt.Errorf("run %s: exit code %d: %w", n.settings.Command[0], res.ExitCode, errRefused)
	case res.ExitCode != 0:
		return fmt.Errorf("run %s: exit code %d", n.settings.Command[0], res.ExitCode)
	}
	return nil
}

// encode writes the event as one line of JSON, without escapes for HTML.
func encode(v event) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	return b.Bytes(), nil
}

// lineLogger logs the command's output line by line, up to mostOutput.
type lineLogger struct {
	log    *slog.Logger
	stream string
	left   int
	cut    bool // there is more
}

func newLineLogger(log *slog.Logger, stream string) *lineLogger {
	return &lineLogger{log: log, stream: stream, left: mostOutput}
}

func (l *lineLogger) Write(line []byte) (int, error) {
	if l.cut {
		return len(line), nil
	}
	part := line[:min(len(line), l.left)]
	if l.left -= len(part); len(part) > 0 {
		l.log.Info(l.stream, "source", "command", "line", strings.TrimRight(string(part), "\r\n"))
	}
	if len(part) < len(line) {
		l.cutOff()
	}
	return len(line), nil
}

// cutOff says that the rest is not logged.
func (l *lineLogger) cutOff() {
	l.cut = true
	l.log.Warn("the command writes more, which is not logged", "stream", l.stream, "logged", mostOutput)
}

package notifier

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"sett/contract/env"
	"sett/roles/cub/toolrun"
	"sett/roles/role"
)

// mostOutput is the logged part of the command's stdout, in bytes.
const mostOutput = 16 << 10

// errStopping: the command was ended because the notifier stops.
var errStopping = errors.New("the notifier is stopping")

// tell runs the command with the event, and a few times more if it fails. It returns
// false when the notifier is to stop and the event was not told. An event that cannot
// be told is dropped with an error in the log.
func (n *notifier) tell(ctx context.Context, log *slog.Logger, v event) (done bool) {
	stdin, err := encode(v)
	if err != nil {
		log.Error("event not told", "error", err)
		return true
	}
	for attempt := 0; ; attempt++ {
		if ctx.Err() != nil {
			return false
		}
		err := n.run(ctx, log, stdin)
		switch {
		case err == nil:
			log.Info("event told", "attempt", attempt+1)
			return true
		case errors.Is(err, errStopping):
			log.Info("command ended before it was done, its event is told again at the next start")
			return false
		case attempt >= len(n.pace.again):
			log.Error("event not told: given up", "attempts", attempt+1, "error", err, "command_line", v.Command)
			return true
		}
		log.Warn("command failed", "attempt", attempt+1, "error", err, "again_in", n.pace.again[attempt])
		role.Pause(ctx, n.pace.again[attempt])
	}
}

// run runs the command once. It succeeds with exit code 0 within its time.
func (n *notifier) run(ctx context.Context, log *slog.Logger, stdin []byte) error {
	base, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer role.AfterGrace(ctx, n.pace.grace, n.env.Hurry, stop)() // at the second signal at once
	res, err := n.runner.Run(base, toolrun.Command{
		Args: n.settings.Command, Dir: n.settings.Workspace, Env: env.WithoutSecrets(n.env.Environ()),
		Stdin: stdin, Timeout: n.settings.Timeout, Limit: mostOutput, Stderr: lineLogger{log, "stderr"},
	})
	if err != nil {
		return err
	}
	for line := range bytes.Lines(res.Stdout) {
		_, _ = lineLogger{log, "stdout"}.Write(line)
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

// lineLogger logs the command's output line by line.
type lineLogger struct {
	log    *slog.Logger
	stream string
}

func (l lineLogger) Write(line []byte) (int, error) {
	l.log.Info(l.stream, "source", "command", "line", strings.TrimRight(string(line), "\r\n"))
	return len(line), nil
}

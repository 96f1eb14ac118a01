package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sett/contract/prompt"
	"sett/roles/cub/toolrun"
	"sett/roles/role/modelclient"
)

// mostOutput is the part of a program's stdout, and of its stderr, that the model gets, in
// bytes.
const mostOutput = 12 << 10

type runCall struct {
	Argv []string `json:"argv"`
	Line string   `json:"line"`
}

func (l *loop) runTool() tool {
	t := tool{
		Tool: modelclient.Tool{Name: "run"},
		line: func(arguments json.RawMessage) string {
			var c runCall
			_ = json.Unmarshal(arguments, &c) // the call reports a broken one
			return c.Line + strings.Join(c.Argv, " ")
		},
		call: func(ctx context.Context, arguments json.RawMessage) (string, *result, error) {
			var c runCall
			if err := decode(arguments, &c); err != nil {
				return "", nil, err
			}
			argv, err := l.argv(c)
			if err != nil {
				return "", nil, err
			}
			reply, err := l.runProgram(ctx, argv)
			return reply, nil, err
		},
	}
	limits := fmt.Sprintf(" It has no terminal and no stdin, and ends after %s. Each call starts in the working directory.", l.RunTimeout)
	if l.Shell {
		t.Description = "Run a line in a shell, sh -c." + limits
		t.Schema = schema(map[string]any{"line": text("The line.")}, "line")
		return t
	}
	t.Description = "Run a program, without a shell: no pipes, no redirection, no patterns, no variables." + limits + " Programs: " + strings.Join(l.Run, ", ") + "."
	t.Schema = schema(map[string]any{
		"argv": map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "description": "The program and its arguments."},
	}, "argv")
	return t
}

// argv is the program that a call may run.
func (l *loop) argv(c runCall) ([]string, error) {
	if l.Shell {
		if strings.TrimSpace(c.Line) == "" {
			return nil, errUnread{errors.New("the line is empty")}
		}
		return noNUL("sh", "-c", c.Line)
	}
	if len(c.Argv) == 0 {
		return nil, errUnread{errors.New("argv is empty")}
	}
	if !slices.Contains(l.Run, c.Argv[0]) {
		return nil, fmt.Errorf("%q is not on the list of programs: %s", oneLine(c.Argv[0]), strings.Join(l.Run, ", "))
	}
	return noNUL(c.Argv...)
}

func noNUL(argv ...string) ([]string, error) {
	if slices.ContainsFunc(argv, func(s string) bool { return strings.ContainsRune(s, 0) }) {
		return nil, errors.New("an argument has a NUL byte")
	}
	return argv, nil
}

// runProgram runs one program to its end, with all that it started.
func (l *loop) runProgram(ctx context.Context, argv []string) (string, error) {
	dir := l.dir
	if l.tree != nil {
		dir = l.tree.dir
	}
	res, err := l.runner.Run(ctx, toolrun.Command{Args: argv, Dir: dir, Env: l.environ, Timeout: l.RunTimeout, Grace: time.Second})
	switch {
	case err != nil:
		return "", err
	case res.Cancelled:
		return "", context.Cause(ctx)
	}
	return l.report(res), nil
}

// report tells the model the end of a program. It holds no time: the same end gives the
// same text.
func (l *loop) report(res toolrun.Result) string {
	var b strings.Builder
	switch {
	case res.TimedOut:
		fmt.Fprintf(&b, "The program was ended after %s.\n", l.RunTimeout)
	case res.OutOfMemory:
		b.WriteString("The program was killed: out of memory.\n")
	case res.Signal != "":
		fmt.Fprintf(&b, "The program was ended by %s.\n", res.Signal)
	default:
		fmt.Fprintf(&b, "Exit code %d.\n", res.ExitCode)
	}
	if res.MemoryKill != "" && !res.OutOfMemory {
		b.WriteString("Out of memory: a process of the program or beside it was killed meanwhile.\n")
	}
	for _, out := range []struct {
		name string
		text []byte
		size int64
	}{{"stdout", res.Stdout, res.StdoutSize}, {"stderr", res.Stderr, res.StderrSize}} {
		if len(out.text) == 0 {
			continue
		}
		text := prompt.Middle(strings.ToValidUTF8(string(out.text), "\ufffd"), mostOutput)
		fmt.Fprintf(&b, "%s:\n%s", out.name, text)
		if !strings.HasSuffix(text, "\n") {
			b.WriteString("\n")
		}
		if out.size > int64(len(out.text)) {
			fmt.Fprintf(&b, "[… %d bytes in all …]\n", out.size)
		}
	}
	return b.String()
}

// Package once runs one program of an agent in its container and reports its end, for
// sett try: it hands the cub's way to run tools into a container. It reads no blackboard.
package once

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sett/contract/env"
	"sett/roles/cub/toolrun"
	"sett/roles/role"
)

// Flag has the cub do nothing else. A directory follows it.
const Flag = "--once"

// Dir is the directory in the container.
const Dir = "/.sett-once"

// The files of the directory.
const (
	requestFile = "request.json"
	reportFile  = "report.json"
)

// Request is a program to run.
type Request struct {
	Args      []string      `json:"args"`
	Dir       string        `json:"dir"`
	Stdin     []byte        `json:"stdin"`
	Timeout   time.Duration `json:"timeout"`
	Limit     int64         `json:"limit"`
	Tool      env.ToolVars  `json:"tool"`
	NoNetwork bool          `json:"no_network"`
	Model     []string      `json:"model,omitempty"` // the variables of the door to the agent's model; its socket is in the container
}

// Report is its end.
type Report struct {
	Result toolrun.Result `json:"result"`
	Error  string         `json:"error,omitempty"` // the reason that it could not be started
}

// Put writes a request into a directory, and removes the report of the one before.
func Put(dir string, r Request) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = os.RemoveAll(filepath.Join(dir, reportFile))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, requestFile), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("hand over the program: %w", err)
	}
	return nil
}

// Take reads the report. fs.ErrNotExist: there is none.
func Take(dir string) (r Report, err error) {
	text, err := os.ReadFile(filepath.Join(dir, reportFile))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("read how the program ended: %w", err)
	}
	return r, nil
}

// Run runs the program of the request in a directory. Its lines on stderr are printed as
// they come.
func Run(ctx context.Context, e role.Env, runner toolrun.Runner, dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, requestFile))
	var r Request
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return role.Fail(role.Usage, fmt.Errorf("read the program to run: %w", err), "sett try --container starts this")
	}
	var report Report
	environ := env.ToolEnviron(e.Environ(), r.Tool)
	if len(r.Model) > 0 {
		way, shut, err := relay(ctx, r.Model, !r.NoNetwork)
		if err != nil {
			return role.Fail(role.Environment, err, "")
		}
		defer shut()
		environ = with(environ, way)
	}
	if r.Args, err = toolrun.OwnProgram(r.Args); err != nil {
		return role.Fail(role.Environment, err, "")
	}
	report.Result, err = runner.Run(ctx, toolrun.Command{
		Args: r.Args, Dir: r.Dir, Stdin: r.Stdin, Timeout: r.Timeout, Limit: r.Limit, NoNetwork: r.NoNetwork,
		Env: environ, Stderr: lines{e.Stderr},
	})
	if err != nil {
		report.Error = err.Error()
	}
	if text, err = json.Marshal(report); err == nil {
		err = os.WriteFile(filepath.Join(dir, reportFile), text, 0o600)
	}
	if err != nil {
		return role.Fail(role.Environment, fmt.Errorf("write how the program ended: %w", err), "")
	}
	return nil
}

// with adds variables to those of an environment, which win.
func with(environ, more []string) []string {
	for _, v := range more {
		name, _, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(environ, func(has string) bool { return strings.HasPrefix(has, name+"=") }) {
			environ = append(environ, v)
		}
	}
	return environ
}

// relay adds an address of the container's loopback to the variables of a door, which has
// a socket alone.
func relay(ctx context.Context, door []string, loopback bool) (vars []string, shut func(), err error) {
	socket := ""
	for _, v := range door {
		if value, ok := strings.CutPrefix(v, env.ModelSocket+"="); ok {
			socket = value
		}
	}
	if !loopback || socket == "" {
		return door, func() {}, nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("open the door to the model: %w", err)
	}
	go func() {
		for in, err := l.Accept(); err == nil; in, err = l.Accept() {
			go join(ctx, in, socket)
		}
	}()
	base := "http://" + l.Addr().String()
	vars = append(slices.Clone(door), env.OpenAIBase+"="+base+"/v1", env.OpenAIOldBase+"="+base+"/v1", env.AnthropicBase+"="+base)
	return vars, func() { _ = l.Close() }, nil
}

// join passes the bytes of a connection on to the socket, and back.
func join(ctx context.Context, in net.Conn, socket string) {
	defer in.Close()
	out, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return
	}
	defer out.Close()
	go func() { _, _ = io.Copy(out, in); _ = out.(*net.UnixConn).CloseWrite() }() //nolint:forcetypeassert // it is one
	_, _ = io.Copy(in, out)
}

// lines ends every line: the container's log knows whole ones.
type lines struct{ out io.Writer }

func (l lines) Write(line []byte) (int, error) {
	whole := line
	if n := len(line); n > 0 && line[n-1] != '\n' {
		whole = append(append([]byte{}, line...), '\n')
	}
	_, err := l.out.Write(whole)
	return len(line), err
}

// Package llm is the tool of agents without a program of their own: it gives an agent's
// task to a language model, lets the model work with a few tools, and prints the result.
//
// It is an ordinary tool: the contract comes on stdin, the result goes to stdout, and all that it
// may do stands in sett.yml. The model's words are never an argument of a shell,
// unless sett.yml says `run: shell`; a Review approves by a field that the model sets on
// purpose, never by its prose. The conversation only grows, and holds no time, id or hash,
// so that a recording can be replayed.
package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"sett/blackboard"
	"sett/contract/env"
	"sett/contract/prompt"
	contract "sett/contract/tool"
	"sett/roles/cub/toolrun"
	"sett/roles/role"
	"sett/roles/role/modelclient"
)

// Help is the role's help page.
const Help = `Do an agent's task with a language model.

Usage: sett llm < TASK

It is the command of an agent with "llm" in sett.yml. It reads the tool
contract's JSON on stdin, gives the model a prompt and the tools that sett.yml
names, and prints the result on stdout. On stderr it says each step in one line.
Environment:

  SETT_MODEL               the model's name at its provider
  SETT_MODEL_API           chat, messages or responses
  SETT_MODEL_SOCKET        the door to the model, a Unix socket; else
  OPENAI_BASE_URL, ANTHROPIC_BASE_URL      its address, and
  OPENAI_API_KEY, ANTHROPIC_API_KEY        its token
  SETT_LLM                 JSON object with context, max_output, temperature,
                           tools, run, shell, run_timeout, steps, makes,
                           terminal, limit
  SETT_PROMPT_EXECUTION    the instructions
  SETT_AGENT_ROLE, SETT_WORKSPACE, SETT_WORKSPACE_MODE, SETT_AGENT_COMMITS

The model's tools, as far as sett.yml names them:

  edit     looks at files and changes them: view, create, str_replace, insert
  run      runs a program of the list, or with "run: shell" a line for sh -c
  search   finds text in files
  ask      asks a person; always there
  finish   hands in the result; always there

Exit codes: sett --help
`

// mostInput is the longest task that is read, in bytes.
const mostInput = 512 << 20

// Run does one task.
func Run(ctx context.Context, e role.Env) error {
	if done, err := e.Arguments("llm", Help); done {
		return err
	}
	if role.IsTerminal(e.Stdin) {
		return role.Fail(role.Usage, errors.New("sett llm reads a task on stdin"), "sett try AGENT tries an agent; sett llm --help")
	}
	s, err := read(e)
	if err != nil {
		return role.Fail(role.Usage, err, "sett llm --help")
	}
	if err := protect(e); err != nil {
		return role.Fail(role.Environment, err, "")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go toolrun.ReapOrphans(ctx)
	out, err := s.work(ctx)
	if err != nil {
		return err
	}
	return write(e.Stdout, out)
}

// session is one task with all that it needs.
type session struct {
	env.LLM
	role, instructions string
	commits            []string // types whose payload is a commit
	mode               blackboard.WorkspaceMode
	dir                string
	environ            []string // of programs that the model runs
	input              contract.Input
	client             *modelclient.Client
	runner             toolrun.Runner
	log                io.Writer
}

// read reads the environment and the task.
func read(e role.Env) (*session, error) {
	r := &env.Reader{Lookup: e.Lookup}
	s := &session{
		role: r.Or(env.Role, r.Or(env.Agent, "agent")), instructions: r.Or(env.PromptExecution, ""),
		mode: blackboard.WorkspaceMode(r.Or(env.WorkspaceMode, string(blackboard.NoWorkspace))), dir: r.Or(env.Workspace, "."),
		runner: toolrun.New(), log: e.Stderr,
	}
	settings, err := env.ParseLLM(e.Lookup)
	client, err2 := modelclient.FromEnv(e.Lookup)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	s.LLM, s.client = settings, client
	if settings.Limit != "" {
		client.Limit = settings.Limit
	}
	if text := r.Or(env.Commits, ""); text != "" {
		if err := json.Unmarshal([]byte(text), &s.commits); err != nil {
			return nil, fmt.Errorf("%s is %q; want a JSON array", env.Commits, text)
		}
	}
	s.commits = append(s.commits, blackboard.TypeCodeCommit)
	environ := e.Environ()
	s.environ = env.WithoutDoor(environ)
	for _, v := range environ { // by it the cub finds processes that leave their session
		if strings.HasPrefix(v, toolrun.MarkVariable+"=") {
			s.environ = append(s.environ, v)
		}
	}
	text, err := io.ReadAll(io.LimitReader(e.Stdin, mostInput))
	if err != nil {
		return nil, fmt.Errorf("read the task: %w", err)
	}
	if err := json.Unmarshal(text, &s.input); err != nil {
		return nil, fmt.Errorf("read the task: %w", err)
	}
	if s.input.Target.ID == "" || !s.input.ClaimType.Valid() || s.input.ClaimType == blackboard.BidIgnore {
		return nil, errors.New("read the task: it has no target_artefact or no claim_type of review, claim and exclusive")
	}
	return s, nil
}

// protect keeps the door's token from the programs that the model runs, and makes this
// process the parent of all that they leave behind, as a cub does with its tool.
func protect(e role.Env) error {
	if !e.Alone {
		return nil
	}
	err := errors.Join(role.ScrubEnv(env.DoorVariables...), toolrun.Protect(), toolrun.BecomeReaper())
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// work does the task, and returns the result.
func (s *session) work(ctx context.Context) (*result, error) {
	tree, err := openTree(s.dir, s.mode)
	if err != nil {
		return nil, err
	}
	defer tree.close()
	l, err := s.loop(tree)
	if err != nil {
		return nil, err
	}
	out, err := l.run(ctx)
	if ctx.Err() != nil && err != nil {
		l.say("stopped after %s", l.done())
		return nil, fmt.Errorf("stopped after %s", l.done())
	}
	if err != nil {
		return nil, &endedError{err, l.done()}
	}
	return out, nil
}

// endedError is the reason for the end of the work, and says how far it got.
type endedError struct {
	error
	done string
}

func (e *endedError) Unwrap() error { return e.error }

func (e *endedError) Error() string {
	first, rest, _ := strings.Cut(e.error.Error(), "\n")
	return strings.TrimSuffix(fmt.Sprintf("%s (after %s)\n%s", first, e.done, rest), "\n")
}

// loop prepares the conversation.
func (s *session) loop(tree *tree) (*loop, error) {
	l := &loop{session: s, tree: tree}
	l.tools = l.toolset()
	t := prompt.Task{
		Role: s.role, Instructions: s.instructions, Input: s.input, Form: prompt.FormTools, Makes: s.Makes,
		Final: s.Terminal && s.input.ClaimType == blackboard.BidExclusive,
	}
	if tree != nil && (s.Has(env.ToolEdit) || s.Has(env.ToolRun) || s.Has(env.ToolSearch)) {
		t.Files = role.TreeFiles(tree.dir)
	}
	t.Room = prompt.RoomFor(s.Context, s.MaxOutput)
	p := prompt.New(t)
	l.left = p.Left
	if len(p.Left) > 0 {
		l.say("left out of the prompt: %s", strings.Join(p.Left, ", "))
	}
	l.request = modelclient.Request{
		System: p.System, Messages: []modelclient.Message{{Text: p.User}}, MaxOutput: s.MaxOutput, Temperature: s.Temperature,
	}
	for _, tool := range l.tools {
		l.request.Tools = append(l.request.Tools, tool.Tool)
	}
	return l, nil
}

// say writes one line to the log.
func (s *session) say(format string, args ...any) {
	line := role.Clean(fmt.Sprintf(format, args...))
	_, _ = fmt.Fprintln(s.log, short(line))
}

// short cuts a line to the length of a log's.
func short(line string) string {
	const most = 240
	if len(line) <= most {
		return line
	}
	return strings.ToValidUTF8(line[:most], "") + "…"
}

// result is the contract's output.
type result struct {
	StructuralType blackboard.StructuralType `json:"structural_type"`
	Type           string                    `json:"artefact_type,omitempty"`
	Payload        string                    `json:"artefact_payload"`
	Summary        string                    `json:"summary,omitempty"`
	Commit         string                    `json:"commit,omitempty"`
	Metadata       *metadata                 `json:"metadata,omitempty"`
}

// metadata says how a result came about. It names nothing that differs between two runs
// with equal answers of the model.
type metadata struct {
	Steps   int      `json:"steps"`
	LeftOut []string `json:"left_out,omitempty"` // of the prompt
}

func write(w io.Writer, out *result) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// kindOf returns the type of a result by the model's word and by sett.yml.
func (s *session) kindOf(said string) string {
	if len(s.Makes) == 1 {
		return cmp.Or(said, s.Makes[0])
	}
	return said
}

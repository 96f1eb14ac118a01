// Package repository has the words that cubs and `sett repository` exchange, and the
// cub's end of the line. Requests are JSON over HTTP, each with the agent's own token,
// and harmless to repeat.
package repository

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"sett/blackboard"
	"sett/contract/tool"
	"sett/roles/role"
	"sett/roles/role/git"
)

// Grant is the run of a tool that a tree is for.
type Grant struct {
	Claim   string `json:"claim"`
	Attempt int    `json:"attempt"`
}

// Prepare asks for a clean tree. It starts at the merge of the commits of these
// artefacts, else at the goal's base. A resumed grant starts from the files that its tree
// held. Changes that the tree still has of a grant before, which nobody settled, are kept first.
type Prepare struct {
	Grant
	Goal      string   `json:"goal"`
	Branch    string   `json:"branch,omitempty"` // that the goal began on; empty: none
	Artefacts []string `json:"artefacts,omitempty"`
	Beside    []string `json:"beside,omitempty"`     // artefacts whose commits the tool is told of as unmerged
	Resumes   int      `json:"resumes,omitempty"`    // the attempt that was suspended by a question
	ResumesOf string   `json:"resumes_of,omitempty"` // the claim of that attempt; empty: this grant's
	ReadOnly  bool     `json:"read_only,omitempty"`  // the tool changes no file: nothing is ever kept of the tree
	MaxSize   int64    `json:"max_size"`             // of the changes of a grant before, in bytes; 0: store.MaxSize
}

// Clash answers a Prepare of commits that do not merge: no tree is made. The artefacts Conflict and its
// Review have a commit in the store, should they be made.
type Clash struct {
	Ours     string   `json:"ours"` // commit
	Of       []string `json:"of"`   // the artefacts that are in it
	Theirs   string   `json:"theirs"`
	TheirsOf string   `json:"theirs_of"`
	Base     string   `json:"base,omitempty"`
	Files    []string `json:"files"`

	Kinds    []blackboard.ConflictFile `json:"kinds,omitempty"` // of the first files
	Hunks    []git.Hunk                `json:"hunks"`
	Commit   string                    `json:"commit"` // of both, with marks in the files
	Artefact string                    `json:"artefact"`
}

// Prepared answers a Prepare: the tree, or why there is none.
type Prepared struct {
	tool.Workspace
	Clash *Clash `json:"clash,omitempty"`
}

// Take asks to hold a commit that the tool made in its tree.
type Take struct {
	Grant
	Hash     string `json:"hash"` // or its beginning, 7 digits at least
	Artefact string `json:"artefact"`
	Rebased  bool   `json:"rebased,omitempty"` // it need not build on the tree's start
	Last     bool   `json:"last,omitempty"`    // the result names no further one: what the tool left beside it is kept
	Settles  string `json:"settles,omitempty"` // the Conflict that it has to settle
	MaxSize  int64  `json:"max_size"`          // bytes; 0: store.MaxSize
}

// Commit asks to commit all that the tool changed, on top of its own commits, and to hold
// it. The answer is empty where it changed nothing; the tree is not settled then.
type Commit struct {
	Grant
	Artefact string `json:"artefact"`
	Message  string `json:"message"`
	Settles  string `json:"settles,omitempty"` // the Conflict that it has to settle
	MaxSize  int64  `json:"max_size"`          // bytes; 0: store.MaxSize
}

// Keep asks to keep the changes that the tool left in its tree.
type Keep struct {
	Grant
	Message string `json:"message"`
	MaxSize int64  `json:"max_size"`        // bytes; 0: store.MaxSize
	Empty   bool   `json:"empty,omitempty"` // the tree takes too much: its files go at once
}

// Settle says that the tool has ended well: the changes that it left in its tree count
// for nothing, unless it has committed them. Take and Commit say so, too.
type Settle struct {
	Grant
	MaxSize int64 `json:"max_size"` // bytes; 0: store.MaxSize
}

// Held is a commit that a ref holds; empty: nothing was there to hold.
type Held struct {
	Commit   string   `json:"commit"`
	Ref      string   `json:"ref,omitempty"`
	Beside   []string `json:"beside,omitempty"`   // commits that a leftover has beside those of HEAD, with their names, for people
	LeftOut  []string `json:"left_out,omitempty"` // changes that are not in a leftover, with the reason, for people; also without a commit
	Embedded []string `json:"embedded,omitempty"` // folders that were repositories of their own: their history is not held
	Refused  []string `json:"refused,omitempty"`  // paths with names that git takes for its own, which are not held; also without a commit
	Modules  []string `json:"modules,omitempty"`  // submodules in which something is changed, which is not held; also without a commit

	Rest *Rest `json:"rest,omitempty"` // beside the tool's commit; nil: that has all
}

// Rest are the changes in a tree that the tool's commit does not have.
type Rest struct {
	Files   []string `json:"files"` // the first of them
	More    int      `json:"more,omitempty"`
	Kept    string   `json:"kept,omitempty"`     // the commit that has them
	Ref     string   `json:"ref,omitempty"`      // of a leftover
	NotKept string   `json:"not_kept,omitempty"` // why none has them
}

// String names the files, for people.
func (r Rest) String() string {
	text := strings.Join(r.Files, ", ")
	if r.More > 0 {
		text += fmt.Sprintf(" and %d more", r.More)
	}
	return text
}

// refusal is the answer to a request that cannot be met.
type refusal struct {
	Reason string `json:"reason"`
	Kind   string `json:"kind"` // one of the kinds
}

// ErrTool says that a tool's commit is at fault, not the repository.
// ErrMissing says that a commit to start from is nowhere.
// ErrStale says that the tree is another grant's by now.
// ErrAway says that the repository did not answer.
var (
	ErrTool    = errors.New("the tool's commit")
	ErrMissing = errors.New("missing commit")
	ErrStale   = errors.New("the tree serves another grant")
	ErrAway    = errors.New("the repository does not answer")
)

// Answered says whether an error is an answer, which the same request would get again. After any other one the cub
// repeats the request.
func Answered(err error) bool {
	return errors.Is(err, ErrTool) || errors.Is(err, ErrMissing) || errors.Is(err, ErrStale)
}

// kinds are the errors that the line carries.
var kinds = map[string]error{"tool": ErrTool, "missing": ErrMissing, "stale": ErrStale}

// statuses are the HTTP statuses of the kinds.
var statuses = map[string]int{"tool": http.StatusUnprocessableEntity, "missing": http.StatusNotFound, "stale": http.StatusConflict}

// Refuse answers a request with an error; the other end finds its kind again.
func Refuse(w http.ResponseWriter, err error) {
	status, kind := http.StatusServiceUnavailable, ""
	for k, e := range kinds {
		if errors.Is(err, e) {
			status, kind = statuses[k], k
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(refusal{role.CleanText(err.Error()), kind})
}

// Port is where the role listens in its container.
const Port = 7070

// Host is the role's name on an instance's networks.
func Host(instance string) string { return "sett-" + instance + "-repository" }

// Token is the token of an agent; the key is the instance's secret.
func Token(key, agent string) string {
	m := hmac.New(sha256.New, []byte(key))
	_, _ = io.WriteString(m, "sett repository "+agent) // cannot fail
	return hex.EncodeToString(m.Sum(nil))
}

// Admits says whether a request carries the agent's token.
func Admits(key, agent string, r *http.Request) bool {
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && hmac.Equal([]byte(got), []byte(Token(key, agent)))
}

// Client asks the repository for one agent.
type Client struct {
	URL   string // http://host:port
	Agent string
	Slot  string // the agent's, or one of its workers': AGENT or AGENT.NAME
	Token string
	HTTP  *http.Client
}

// NewClient returns an agent's client. It gives up a connection that cannot be made or
// has died, and waits for an answer as long as its context: a large tree takes its time.
func NewClient(url, agent, slot, token string) *Client {
	return &Client{URL: url, Agent: agent, Slot: slot, Token: token, HTTP: &http.Client{
		Transport: &http.Transport{DialContext: role.Dialer(dialTime, role.Silence).DialContext, MaxIdleConns: 1, IdleConnTimeout: time.Minute}, // and no proxy
	}}
}

// dialTime bounds the making of a connection.
const dialTime = 5 * time.Second

// Prepare returns when the tree is ready.
func (c *Client) Prepare(ctx context.Context, q Prepare) (Prepared, error) {
	return ask[Prepared](ctx, c, "prepare", q)
}

// Take returns when the commit is held, on disk.
func (c *Client) Take(ctx context.Context, q Take) (Held, error) { return ask[Held](ctx, c, "take", q) }

// Commit returns when the commit is made and held, on disk.
func (c *Client) Commit(ctx context.Context, q Commit) (Held, error) {
	return ask[Held](ctx, c, "commit", q)
}

// Keep returns when the leftovers are held, on disk.
func (c *Client) Keep(ctx context.Context, q Keep) (Held, error) { return ask[Held](ctx, c, "keep", q) }

// Settle returns the commit that the tool made without a word of it in its result, held on
// disk; empty: it made none.
func (c *Client) Settle(ctx context.Context, q Settle) (Held, error) {
	return ask[Held](ctx, c, "settle", q)
}

// mostAnswer bounds an answer: it names a few commits, and the places of a conflict.
const mostAnswer = 2 << 20

// ask sends a request. An error that wraps none of the errors above is worth another try.
func ask[A any](ctx context.Context, c *Client, what string, q any) (answer A, err error) {
	return send[A](ctx, c, treePath(c.Agent, c.Slot, what), q)
}

func send[A any](ctx context.Context, c *Client, path string, q any) (answer A, err error) {
	body, err := json.Marshal(q)
	if err != nil {
		return answer, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	r.Header.Set("Authorization", "Bearer "+c.Token)
	r.Header.Set("Content-Type", "application/json")
	res, err := c.HTTP.Do(r)
	if err != nil {
		return answer, fmt.Errorf("%w: %w", ErrAway, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	if err != nil {
		return answer, fmt.Errorf("%w: %w", ErrAway, err)
	}
	if res.StatusCode == http.StatusOK {
		err = json.Unmarshal(text, &answer)
		return answer, err
	}
	var no refusal
	if json.Unmarshal(text, &no) != nil || no.Reason == "" {
		return answer, fmt.Errorf("ask the repository: it answers %s", res.Status)
	}
	if kind := kinds[no.Kind]; kind != nil {
		return answer, &answered{no.Reason, kind}
	}
	return answer, fmt.Errorf("ask the repository: %s", no.Reason)
}

// answered is an error that came over the line.
type answered struct {
	reason string
	kind   error
}

func (a *answered) Error() string { return a.reason }

// Unwrap returns the kind.
func (a *answered) Unwrap() error { return a.kind }

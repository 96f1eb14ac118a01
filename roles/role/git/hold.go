package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"sync"

	"sett/roles/role"
)

// heldBranch is a move of a branch that is prepared and not yet made: until it ends, git has locked the
// branch, and nobody else moves it. Should this process die, git gives the lock back.
type heldBranch struct {
	cmd    *exec.Cmd
	ask    io.WriteCloser
	answer *bufio.Reader
	said   bytes.Buffer
}

// holdBranch prepares the move of a branch from a commit to another. It fails where the branch is
// elsewhere by now, or another git moves it.
func holdBranch(ctx context.Context, g Repository, branch, from, to, why string) (*heldBranch, error) {
	h := &heldBranch{cmd: commandOf(ctx, g, []string{"update-ref", "-m", why, "--stdin"})}
	h.cmd.Stderr = &h.said
	var err error
	if h.ask, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.answer = bufio.NewReader(out)
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	err = h.do("start", "")
	if err == nil {
		err = h.do("prepare", fmt.Sprintf("update %s %s %s\n", BranchRef(branch), to, from))
	}
	if err == nil {
		return h, nil
	}
	err = h.end(err)
	if at := g.Tip(ctx, branch); at != "" && at != from {
		return nil, role.Fail(role.Failed, fmt.Errorf("%s was moved to %.10s meanwhile; nothing is changed", branch, at), "land again")
	}
	if m := lockedRef().FindStringSubmatch(err.Error()); m != nil {
		return nil, role.Fail(role.Failed, fmt.Errorf("another git moves %s, or was killed, and left %s; nothing is changed", branch, m[1]), "land again; where no git is at work, remove that file first")
	}
	return nil, err
}

var lockedRef = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`Unable to create '(.*\.lock)': File exists`) })

// do has git take a step, and waits until it is taken.
func (h *heldBranch) do(step, before string) error {
	if _, err := io.WriteString(h.ask, before+step+"\n"); err != nil {
		return err
	}
	line, err := h.answer.ReadString('\n')
	if err == nil && line != step+": ok\n" {
		err = fmt.Errorf("git update-ref: %q", line)
	}
	return err
}

// commit moves the branch.
func (h *heldBranch) commit() error { return h.end(h.do("commit", "")) }

// abort leaves the branch where it is.
func (h *heldBranch) abort() { _ = h.end(nil) }

// end waits for git, which drops what is not committed. Its own words are the better error.
func (h *heldBranch) end(err error) error {
	_ = h.ask.Close()
	ended := h.cmd.Wait()
	if said := strings.TrimPrefix(strings.TrimSpace(h.said.String()), "fatal: "); said != "" && (err != nil || ended != nil) {
		err = fmt.Errorf("git update-ref: %s", role.CleanText(said))
		return role.Fail(role.Environment, err, "%s", Remedy(err))
	}
	return errors.Join(err, ended)
}

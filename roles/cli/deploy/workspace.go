package deploy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/runtime/repofile"
)

// workspaceFacts are the facts about a workspace that its containers need.
type workspaceFacts struct {
	uid, gid int      // in containers; of agents, the repository and the notifier
	extra    []string // directories outside the workspace that git needs in the notifier's container
	Notes    []string // for the user
}

// user is how the engine names the user of containers.
func (g workspaceFacts) user() string { return fmt.Sprintf("%d:%d", g.uid, g.gid) }

// Survey finds these facts. The notifier, where there is one, sees the workspace; Survey
// refuses a workspace that would give it the engine.
func Survey(ctx context.Context, env role.Env, e *containerEngine, root string, notifier bool) (workspaceFacts, error) { //nolint:revive // doctor reads its fields only
	var g workspaceFacts
	if socket := e.Endpoint().Socket; socket != "" && notifier {
		resolved, err := filepath.EvalSymlinks(socket)
		if err != nil {
			resolved = socket
		}
		if instance.Within(socket, root) || instance.Within(resolved, root) {
			return g, role.Fail(role.Usage, fmt.Errorf("the engine's socket %s is in the workspace %s: the notifier would have the engine, and with it the machine", socket, root),
				"work in a directory of its own")
		}
	}
	info, err := os.Stat(root)
	if err != nil {
		return g, role.Fail(role.Environment, fmt.Errorf("look at workspace %s: %w", root, role.Cause(err)), "")
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return g, role.Fail(role.Environment, fmt.Errorf("find the owner of workspace %s", root), "")
	}
	switch {
	case e.Facts().Rootless:
		g.uid, g.gid = 0, 0 // outside, the user of the engine
	case os.Geteuid() != 0:
		g.uid, g.gid = os.Geteuid(), os.Getegid() // the owner of the trees
	case owner.Uid == 0:
		g.Notes = append(g.Notes, "the workspace belongs to root, and so agents are root in their containers, without any capability. "+
			"Give the workspace to a user (chown) to change that.")
	default:
		g.uid, g.gid = int(owner.Uid), int(owner.Gid)
	}
	if !notifier {
		return g, nil
	}
	return g, surveyGit(ctx, env, root, &g)
}

// mostPointer bounds a file that holds one path.
const mostPointer = 8 << 10

// surveyGit finds the repository of a linked working tree.
func surveyGit(ctx context.Context, env role.Env, root string, g *workspaceFacts) error {
	dotGit := filepath.Join(root, ".git")
	info, err := os.Lstat(dotGit)
	if err != nil || info.IsDir() {
		return nil
	}
	text, err := repofile.Read(root, dotGit, mostPointer)
	if err != nil {
		return role.Fail(role.Environment, fmt.Errorf("read %s: %w", dotGit, err), "")
	}
	dir, found := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !found || !filepath.IsAbs(dir) {
		g.Notes = append(g.Notes, fmt.Sprintf("git will not work in the notifier's container: %s leads to %q, relative to a place that it does not have", dotGit, dir))
		return nil
	}
	// Another program may have written this: the repository has to know of the working
	// tree as well before it is handed out.
	back, err := repofile.Read("", filepath.Join(dir, "gitdir"), mostPointer)
	if err != nil || strings.TrimSpace(string(back)) != dotGit {
		g.Notes = append(g.Notes, fmt.Sprintf("git will not work in the notifier's container: %s leads to %s, which does not know of this working tree (git worktree repair)", dotGit, dir))
		return nil
	}
	common, err := git.At(env.Environ(), root).Run(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return err
	}
	g.extra = []string{strings.TrimSpace(common)}
	if !instance.Within(dir, g.extra[0]) {
		g.extra = append(g.extra, dir)
	}
	if slices.ContainsFunc(g.extra, func(s string) bool { return strings.Contains(s, string(filepath.ListSeparator)) }) {
		return role.Fail(role.Usage, fmt.Errorf("the repository's directory %s has a colon in its name", g.extra[0]), "")
	}
	return nil
}

// hosts are the hosts that a Redis URL names.
func hosts(u *url.URL) []string {
	all := []string{u.Hostname()}
	for _, addr := range u.Query()["addr"] {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			host = addr // without a port
		}
		all = append(all, host)
	}
	return all
}

// errNoPort is the error when other programs took every port.
var errNoPort = errors.New("every port that was free a moment ago was taken")

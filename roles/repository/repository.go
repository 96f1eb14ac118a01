// Package repository is the one role that touches git for an instance. It prepares a
// clean private tree for each grant, takes the commits that tools make out of their
// trees into the store, and keeps the changes of tools that fail.
//
// It runs as the owner of the repository, without a tool, without credentials of
// the blackboard and without the engine's socket. Its requests come from cubs, each with
// the token of its agent, and reach that agent's trees alone. It decides nothing about
// claims, and everything that it remembers is in files: after a crash it goes on.
package repository

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"sett/contract/env"
	"sett/roles/role"
	"sett/roles/role/store"
)

const help = `Prepare agents' trees and hold their commits, for one instance.

Usage: sett repository

It serves cubs over HTTP. Each agent may ask about its own trees alone, with the
token that its name and the instance's secret give. It needs git.

Environment:
  SETT_INSTANCE_NAME    the instance's name
  SETT_REPOSITORY_ADDR  where to listen, such as 127.0.0.1:7070
  SETT_REPOSITORY_KEY   the secret of which agents' tokens are made
  SETT_STORE            directory of the store, a bare git repository
  SETT_TREES            directory of the agents' trees
  SETT_OBJECTS          the store's objects, as tools see them;
                        default: the store's directory objects
  SETT_TREE_GIT         the git directory of a read-only tree, as its tool
                        sees it; default: the tree's own
  SETT_LAND_INTO        git directory of the user's repository, to land there;
                        default: nothing lands
  SETT_HEALTH_ADDR      of /healthz and /metrics; default :8080; off: none
  SETT_LOG_FORMAT       json or text; default: text on a terminal
  SETT_LOG_LEVEL        debug, info (default), warn or error

Exit codes: sett --help
`

// Run serves until the context ends.
func Run(ctx context.Context, e role.Env) error {
	if done, err := e.Arguments("repository", help); done {
		return err
	}
	settings, err := env.ParseRepository(e.Lookup)
	if err != nil {
		return role.Fail(role.Usage, err, "sett repository --help")
	}
	s, err := newServer(settings, e.Logger("repository").With("instance", settings.Instance))
	if err != nil {
		return err
	}
	if err := s.check(ctx); err != nil {
		return role.Fail(role.Environment, fmt.Errorf("read the store %s: %w", settings.Store, err), "")
	}
	if err := role.ScrubEnv(env.RepositoryKey); err != nil {
		s.log.Warn("the secret is less protected than possible", "error", err)
	}
	l, err := net.Listen("tcp", settings.Addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return role.Fail(role.Environment, fmt.Errorf("listen on %s: the port is in use by another program", settings.Addr), "sett down && sett up takes a free one")
	}
	if err != nil {
		return role.Fail(role.Environment, fmt.Errorf("listen on %s: %w", settings.Addr, err), "")
	}
	actors := []func(context.Context) error{func(ctx context.Context) error { return s.serve(ctx, l) }, s.maintain, s.atRest}
	if settings.HealthAddr != "off" {
		h, err := role.ListenHealth(settings.HealthAddr, role.HealthOptions{
			Check: s.check, Metrics: s.metrics.registry, Instance: settings.Instance,
		})
		if err != nil {
			return errors.Join(err, l.Close())
		}
		actors = append(actors, h.Serve)
	}
	s.log.Info("repository serves", "addr", l.Addr().String(), "store", settings.Store, "pid", os.Getpid(), "version", e.Build.Version)
	if err := role.Together(ctx, actors...); err != nil && ctx.Err() == nil {
		return role.Fail(role.Environment, fmt.Errorf("serve the repository: %w", err), "")
	}
	s.log.Info("repository stopped")
	return nil
}

// server is the role's state while the process lives.
type server struct {
	instance string
	key      string
	store    *store.Store
	trees    string
	seen     store.Seen // as tools see it
	log      *slog.Logger
	metrics  *metrics
	busy     busy
	refused  refused
	rest     rest
	user     *store.User // the user's repository; nil: nothing lands
	landing  sync.Mutex
	grown    chan struct{} // the store holds more than before; has room for one
}

func newServer(c env.Repository, log *slog.Logger) (*server, error) {
	s := &server{
		instance: c.Instance, key: c.Key, store: store.Open(c.Store), trees: c.Trees, seen: store.Seen{Objects: c.Objects, Git: c.TreeGit}, log: log, metrics: newMetrics(),
		grown: make(chan struct{}, 1),
	}
	if !s.store.Exists() {
		return nil, role.Fail(role.Environment, fmt.Errorf("there is no store in %s", c.Store), "sett up makes it")
	}
	if c.User != "" {
		s.user = store.OpenUser(c.User)
	}
	if err := s.clean(); err != nil {
		return nil, role.Fail(role.Environment, err, "")
	}
	return s, nil
}

// clean removes the objects that a killed predecessor was about to take.
func (s *server) clean() error {
	left, err := filepath.Glob(filepath.Join(s.store.Dir, "taking-*"))
	if err != nil {
		return err
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("clean the store: %w", err)
		}
	}
	return store.Content(s.store.Objects()).Clean()
}

// maintain keeps the store fast, beside the requests.
func (s *server) maintain(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.grown:
			if err := s.store.Maintain(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("store not maintained, trying again with the next commit", "error", err)
			}
		}
	}
}

// check says whether the store can be read.
func (s *server) check(ctx context.Context) error {
	_, err := s.store.Format(ctx)
	return err
}

// Bounds of a request. A large tree takes its time, so there is none for the answer.
const (
	headerTime = 5 * time.Second
	mostBody   = 1 << 20
	mostAtOnce = 256
)

// lastRequests bounds the time in which requests under way may end when the role stops.
const lastRequests = 5 * time.Second

// serve answers cubs until the context ends; requests under way may end then.
func (s *server) serve(ctx context.Context, l net.Listener) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	server := &http.Server{
		Handler: role.Bounded(mostAtOnce, s.routes(life)), ReadHeaderTimeout: headerTime, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return life },
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		last, cancel := context.WithTimeout(life, lastRequests)
		defer cancel()
		_ = server.Shutdown(last)
		end()
		_ = server.Close()
	})
	err := server.Serve(l)
	if !stop() {
		<-ended
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return ctx.Err()
}

// ownSlot says whether a tree's place is the agent's: its name, or that of one of its workers.
// No agent's name has a dot, so that no other agent's tree is named like a worker's.
func ownSlot(agent, slot string) bool {
	rest, ok := strings.CutPrefix(slot, agent)
	return ok && agent != "" && !strings.Contains(agent, ".") && plainName(slot) && (rest == "" || rest[0] == '.' && len(rest) > 1)
}

// plainName says whether a name is one element of a path and of a ref.
func plainName(name string) bool {
	if name == "" || len(name) > 200 || name[0] == '.' || name[0] == '-' || strings.Contains(name, "..") ||
		strings.HasSuffix(name, ".lock") || name[len(name)-1] == '.' {
		return false
	}
	for _, r := range name {
		if r != '.' && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return true
}

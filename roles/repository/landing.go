package repository

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sett/roles/role"
	"sett/roles/role/git"
	line "sett/roles/role/repository"
	"sett/roles/role/store"
)

// errNoUser is the answer where sett.yml has no land: the role has no way to the user's repository.
var errNoUser = errors.New("this repository does not land: sett.yml had no land when it started")

// planLanding finds the commit that a branch shall have.
func (s *server) planLanding(ctx context.Context, q line.Landing) (p line.LandingPlan, err error) {
	if s.user == nil {
		return p, errNoUser
	}
	if !plainName(q.Goal) || !branchName(q.Branch) {
		return p, errors.New("a landing without a goal or a branch")
	}
	commit, err := s.artefact(ctx, q.Artefact)
	if err != nil {
		return p, err
	}
	subject, _, _ := strings.Cut(role.CleanText(q.Subject), "\n")
	made, err := store.Lander{Store: s.store, User: s.user}.Plan(ctx, store.Landing{
		Name: q.Goal, Commit: commit, Branch: q.Branch, How: q.How, Subject: subject,
		Trailer: fmt.Sprintf("Goal: %s\nArtefact: %s\n", q.Goal, q.Artefact),
	})
	if err != nil {
		return p, err
	}
	p = line.LandingPlan{Tip: made.Tip, To: made.To, How: made.How, Bars: made.Bars, Hunks: made.Hunks}
	if made.Conflict != nil {
		p.Files = made.Conflict.Files
	}
	return p, nil
}

// land moves a branch of the user's. Two goals never land at once.
func (s *server) land(ctx context.Context, q line.Land) (line.Landed, error) {
	if s.user == nil {
		return line.Landed{}, errNoUser
	}
	if !branchName(q.Branch) {
		return line.Landed{}, errors.New("a landing without a branch")
	}
	s.landing.Lock()
	defer s.landing.Unlock()
	if !git.IsHash(q.From) || !git.IsHash(q.To) || len(q.From) != len(q.To) || len(q.To) < 40 {
		return line.Landed{}, errors.New("a landing without whole hashes")
	}
	m, err := store.Lander{Store: s.store, User: s.user}.Land(ctx, q.Branch, q.From, q.To)
	return line.Landed{Done: m.Done, Bars: m.Bars, Lacking: m.Lacking}, err
}

// hold has the ref of an artefact hold a commit that the store has.
func (s *server) hold(ctx context.Context, q line.Hold) (struct{}, error) {
	if !plainName(q.Artefact) {
		return struct{}{}, fmt.Errorf("%q is no artefact", role.Clean(q.Artefact))
	}
	commit, err := s.store.Resolve(ctx, q.Commit)
	if err == nil {
		err = s.store.Hold(ctx, store.Artefact(q.Artefact), commit)
	}
	return struct{}{}, err
}

// branchName says whether a text can be the name of a branch: git says the rest.
func branchName(name string) bool {
	return name != "" && name[0] != '-' && name[0] != '/' && !strings.Contains(name, "..") && !strings.ContainsAny(name, " ~^:?*[\\\x7f") &&
		!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' })
}

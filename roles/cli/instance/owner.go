package instance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
)

// A server of the user's own may have boards of several workspaces. Two of them may choose
// one name, since each knows the instances of its own machine and user only. So a board
// there has its owner: the id of an instance's directory. Sett's own blackboards belong to
// one directory anyway.

// ownerFile is the name of the file with the id. It lies beside the state, which an older
// sett would write without the id.
const ownerFile = "owner.json"

// ownerRecord is the content of that file.
type ownerRecord struct {
	ID string `json:"id"` // random
}

// OwnerID is the id by which the boards of an instance know it; empty: it has none yet.
func OwnerID(in *Instance) string {
	var r ownerRecord
	if ReadFile(filepath.Join(in.Dir, ownerFile), &r) != nil {
		return "" // as if it was lost
	}
	return r.ID
}

// ChooseOwner gives an instance an id if it has none.
func ChooseOwner(l *Locator, in *Instance) error {
	if OwnerID(in) != "" {
		return nil
	}
	return WriteFile(filepath.Join(in.Dir, ownerFile), ownerRecord{l.NewID()})
}

// ownerOf is the owner that an instance is.
func ownerOf(l *Locator, in *Instance) blackboard.Owner {
	host, _ := os.Hostname() // for people only
	return blackboard.Owner{ID: OwnerID(in), Workspace: in.Workspace, Host: host, User: l.Who()}
}

// takeOver is an answer to the question whether a workspace may have a board.
type takeOver string

// The answers of mayTakeOver.
const (
	isOurs     takeOver = "ours"     // or nobody's, or that of an older sett
	isOurPlace takeOver = "ourPlace" // the workspace seems to have lost its id: it gets the board
	isAsked    takeOver = "asked"    // a person takes it over
	isAlive    takeOver = "alive"    // refused: another workspace, or a copy of this one, is at work on it
	isAnothers takeOver = "anothers" // refused
	isTaken    takeOver = "taken"    // refused: another workspace took it during the up
)

// mayTakeOver says whether a workspace, here, may have a board of an owner, there. Busy: an
// orchestrator or an agent that may be another workspace's is at work on the board. Asked: a
// person takes it over.
func mayTakeOver(there, here blackboard.Owner, busy, asked bool) takeOver {
	switch {
	case busy:
		return isAlive
	case there.ID == "", there.ID == here.ID:
		return isOurs
	case asked:
		return isAsked
	case there.Resembles(here):
		return isOurPlace
	}
	return isAnothers
}

// pulse is until when each one at work on a board has promised to be there: the agents by
// name, and the leader, which has none.
func pulse(ctx context.Context, b *Board) (until map[string]time.Time, lives bool, err error) {
	now, err := b.ServerTime(ctx)
	if err != nil {
		return nil, false, err
	}
	leader, err := b.Roster.Leader(ctx)
	if err != nil {
		return nil, false, err
	}
	until, lives = map[string]time.Time{"": leader.Until}, blackboard.Lives(leader.Until, now)
	agents, err := b.Roster.Agents(ctx)
	for name, p := range agents {
		until[name], lives = p.Alive, lives || blackboard.Lives(p.Alive, now)
	}
	return until, lives, err
}

// alive says whether an orchestrator leads the board, or an agent was heard of a moment ago.
func alive(ctx context.Context, b *Board) (bool, error) {
	_, lives, err := pulse(ctx, b)
	return lives, err
}

// goesOn says whether something at work on the board goes on. It waits until the first one
// promises anew, or all count as gone: what was killed promises nothing more.
func goesOn(ctx context.Context, b *Board) (bool, error) {
	before, lives, err := pulse(ctx, b)
	for err == nil && lives {
		if !Tick(ctx) {
			return false, ctx.Err()
		}
		var now map[string]time.Time
		now, lives, err = pulse(ctx, b)
		for name, until := range now {
			if lives && until.After(before[name]) {
				return true, err
			}
		}
	}
	return false, err
}

// mayBeAnothers says whether that which works on the board may be another workspace's: the
// board has another owner, or none and a mark that the instance does not know.
func mayBeAnothers(ctx context.Context, in *Instance, b *Board, there, here blackboard.Owner) (bool, error) {
	if there.ID != "" {
		return there.ID != here.ID, nil
	}
	met, err := b.Look(ctx)
	var lost *blackboard.LostError
	if errors.As(err, &lost) {
		met, err = lost.Met, nil
	}
	if met.ID == "" { // it was emptied, or is older than marks
		return !in.Known(), err
	}
	return met.ID != in.Mark().ID, err
}

// isElsewhere says whether the workspace was at another place when it used its board last:
// it was moved since, or its state directory was copied.
func isElsewhere(in *Instance, there, here blackboard.Owner) (bool, error) {
	if there.ID == "" || there.Workspace == here.Workspace && there.Host == here.Host {
		return in.Processes().StartedElsewhere()
	}
	return true, nil
}

// hasOthers says whether an orchestrator or an agent that may be another workspace's, or of
// another copy of this one, is at work.
func hasOthers(ctx context.Context, in *Instance, b *Board, there, here blackboard.Owner, c Claim) (bool, error) {
	if c.Runs && (there.ID == "" || there.ID == here.ID) {
		return false, nil // it is the instance's own
	}
	others, err := mayBeAnothers(ctx, in, b, there, here)
	switch {
	case err != nil:
		return false, err
	case others:
		return alive(ctx, b)
	}
	if elsewhere, err := isElsewhere(in, there, here); err != nil || !elsewhere {
		return false, err
	}
	return goesOn(ctx, b)
}

// WorksElsewhere says whether the instance, of which nothing runs here, may be at work at
// another place.
func WorksElsewhere(ctx context.Context, l *Locator, in *Instance, b *Board) (bool, error) {
	there, err := b.Control.Owner(ctx)
	if err != nil {
		return false, err
	}
	if elsewhere, err := isElsewhere(in, there, ownerOf(l, in)); err != nil || !elsewhere {
		return false, err
	}
	return alive(ctx, b)
}

// Claim is how a sett up asks for a board.
type Claim struct {
	TakeOver bool // a person takes it over
	Runs     bool // units of the instance run here

	// Server is the server that the command line named, for a hint; empty: it named none.
	Server string
}

// args are the arguments of an up that asks again. An address with a password is left out.
func (c Claim) args(args string) string {
	switch {
	case c.Server == "":
		return args
	case Redact(c.Server) != c.Server:
		return args + " --redis-url URL"
	}
	return args + " --redis-url " + role.ShellWord(c.Server)
}

// Ownership is a workspace's way to its board.
type Ownership struct {
	answer      takeOver
	here, there blackboard.Owner
	claim       Claim
}

// Asked says whether a person takes the board from another workspace.
func (o Ownership) Asked() bool { return o.answer == isAsked }

// LookAtOwner says how the instance may get a board of the user's own server. The error is
// that of a board that it may not have.
func LookAtOwner(ctx context.Context, l *Locator, in *Instance, b *Board, c Claim) (o Ownership, err error) {
	o.here, o.claim = ownerOf(l, in), c
	if o.there, err = b.Control.Owner(ctx); err != nil {
		return o, err
	}
	others, err := hasOthers(ctx, in, b, o.there, o.here, c)
	if err != nil {
		return o, err
	}
	if o.answer = mayTakeOver(o.there, o.here, others, c.TakeOver); o.answer == isAlive || o.answer == isAnothers {
		return o, refusedOwner(l, in, &blackboard.OwnedError{Addr: b.Addr(), Instance: in.Name, Owner: o.there}, o.answer, c)
	}
	return o, nil
}

// Led says whether an orchestrator leads the board, or did so until a moment ago.
func Led(ctx context.Context, b *Board) (bool, error) {
	now, err := b.ServerTime(ctx)
	if err != nil {
		return false, err
	}
	leader, err := b.Roster.Leader(ctx)
	return err == nil && blackboard.Lives(leader.Until, now), err
}

// TakeBoard makes the board the instance's, as LookAtOwner allowed. A board that a person
// takes over gets the mark: parts of the former owner that still run are kept off it.
func TakeBoard(ctx context.Context, l *Locator, in *Instance, b *Board, o Ownership, mark string) error {
	o.here.ID = OwnerID(in)
	from := ""
	switch o.answer {
	case isAsked:
		from = o.there.ID
	case isOurPlace:
		from, mark = o.there.ID, "" // parts that run are its own
	}
	err := b.Control.Own(ctx, o.here, from, mark)
	var owned *blackboard.OwnedError
	switch {
	case errors.As(err, &owned): // it was faster
		return refusedOwner(l, in, owned, isTaken, o.claim)
	case err != nil:
		return err
	case o.answer == isAsked:
		l.Sayf("sett: note: the blackboard was taken over from %s; parts that still run there do nothing more on it\n", role.Clean(o.there.String()))
	case o.answer == isOurPlace:
		l.Sayf("sett: note: the blackboard knows this workspace by another record, which is gone or elsewhere; it goes on with this one\n")
	}
	return nil
}

// refusedOwner gives the error about a board of another workspace its exit code and the
// ways on.
func refusedOwner(l *Locator, in *Instance, owned *blackboard.OwnedError, why takeOver, c Claim) error {
	err := errors.New(role.Clean(owned.Error()))
	args := "up --take-over"
	if id := owned.Owner.ID; id == "" || id == OwnerID(in) { // there is nobody to take it from
		args = "up"
	}
	other, over := "another name begins a board of its own: "+c.args("sett up --name OTHER"), l.CommandLine(in, c.args(args))
	if why == isAlive {
		return role.Fail(role.Usage, &ownedError{fmt.Errorf("%w, and it is at work", err), owned},
			"%s; to take this one over: sett down there, or wait until what was killed there counts as gone, then %s", other, over)
	}
	if why == isTaken {
		return role.Fail(role.Usage, &ownedError{fmt.Errorf("%w, which took it over meanwhile", err), owned},
			"%s; to take this one over: sett down there, then %s", other, over)
	}
	return role.Fail(role.Usage, &ownedError{err, owned},
		"%s; if that workspace is this one, moved or cloned again, or its machine is gone: %s", other, over)
}

// ownedError is an OwnedError in other words.
type ownedError struct {
	error
	is *blackboard.OwnedError
}

// Unwrap makes errors.As find the OwnedError.
func (e *ownedError) Unwrap() error { return e.is }

// OwnedByAnother returns the error about a board that belongs to another workspace; nil: it
// does not. Sett's own blackboards do not.
func OwnedByAnother(ctx context.Context, l *Locator, in *Instance, b *Board) error {
	return owned(ctx, l, in, b, isAnothers, Claim{})
}

// TakenMeanwhile is OwnedByAnother for a board that the up, with that claim, had.
func TakenMeanwhile(ctx context.Context, l *Locator, in *Instance, b *Board, c Claim) error {
	return owned(ctx, l, in, b, isTaken, c)
}

// owned returns the error, for that reason, about a board that belongs to another workspace.
func owned(ctx context.Context, l *Locator, in *Instance, b *Board, why takeOver, c Claim) error {
	if !in.External {
		return nil
	}
	there, err := b.Control.Owner(ctx)
	if err != nil || mayTakeOver(there, ownerOf(l, in), false, false) == isOurs {
		return err
	}
	return refusedOwner(l, in, &blackboard.OwnedError{Addr: b.Addr(), Instance: in.Name, Owner: there}, why, c)
}

// IsOwned says whether an error is about a board that belongs to another workspace.
func IsOwned(err error) bool {
	var owned *blackboard.OwnedError
	return errors.As(err, &owned)
}

// told are the instances of which the user knows that their board is another workspace's.
type told struct {
	mu    sync.Mutex
	names map[string]bool
}

// first says whether a name is told for the first time.
func (t *told) first(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names[name] {
		return false
	}
	if t.names == nil {
		t.names = map[string]bool{}
	}
	t.names[name] = true
	return true
}

// checkOwner refuses a board of another workspace to a command that acts. To others it
// names the owner, once; ours is false then.
func checkOwner(ctx context.Context, l *Locator, in *Instance, b *Board) (ours bool, err error) {
	err = OwnedByAnother(ctx, l, in, b)
	if !IsOwned(err) || l.Acts {
		return err == nil, err
	}
	if l.told.first(in.Name) {
		l.Sayf("sett: note: %s\n", words.FirstLine(err))
	}
	return false, nil
}

// PurgesBoard says whether a purge of the instance also removes its keys from a server of
// the user's own, as far as that can be seen now.
func PurgesBoard(ctx context.Context, l *Locator, in *Instance) bool {
	if !in.External {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, ownerTime)
	defer cancel()
	b, err := in.Glance(ctx, l.Terminal, "sett-down")
	if err != nil {
		return true // the purge tries it
	}
	defer b.Close()
	return !IsOwned(OwnedByAnother(ctx, l, in, b))
}

// ownerTime is the time that a server gets to name an owner before a question.
const ownerTime = 2 * time.Second

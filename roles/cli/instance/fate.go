package instance

import (
	"errors"
	"io/fs"
	"net/url"
)

// Fate is the way an instance went since a command found it.
type Fate int

// The fates of instances.
const (
	Stands    Fate = iota // it runs, or should, as far as its state says
	Ends                  // a sett down is at work on it
	Stopped               // sett down has stopped it
	Removed               // it is gone, or another one has its name
	Elsewhere             // it has another blackboard
)

// FateOf reads the fate of an instance. A state that cannot be read now says nothing new, nor does one that was not there
// when the command began.
func FateOf(in *Instance) Fate {
	if in.Lost || in.Foreign {
		return Stands
	}
	now, err := now(in)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Removed
	case err != nil || in.Damage != nil:
		return Stands
	case !now.CreatedAt.Equal(in.CreatedAt):
		return Removed
	case now.Down:
		return Stopped
	case now.Stopping():
		return Ends
	case !onSameBoard(now, in):
		return Elsewhere
	}
	return Stands
}

// WaitsForUp says whether an instance with that fate does nothing until the next sett up.
func (f Fate) WaitsForUp() bool { return f == Stopped || f == Ends }

// onSameBoard says whether both have one blackboard, maybe at another address.
func onSameBoard(now, in *Instance) bool {
	return now.boardKind() == in.boardKind() && withoutHost(now.URL) == withoutHost(in.URL)
}

// now is the instance as its state is now.
func now(in *Instance) (*Instance, error) {
	fresh := &Instance{Dir: in.Dir}
	return fresh, ReadFile(in.StatePath(), &fresh.State)
}

// movedTo is where the blackboard of an instance is now, HOST:PORT; empty: that is not known, or it is another blackboard.
func movedTo(in *Instance) string {
	fresh, err := now(in)
	if err != nil || fresh.URL == in.URL || !fresh.CreatedAt.Equal(in.CreatedAt) || !onSameBoard(fresh, in) {
		return ""
	}
	at, err := url.Parse(fresh.URL)
	if err != nil || at.Port() == "" {
		return ""
	}
	return at.Host
}

// withoutHost is the URL of a blackboard without its address: user, password and database stay where sett up moves it.
func withoutHost(text string) string {
	at, err := url.Parse(text)
	if err != nil {
		return text
	}
	at.Host = ""
	return at.String()
}

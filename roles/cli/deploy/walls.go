package deploy

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/confine"
	"sett/runtime/repofile"
)

// noteWalls notes in the agents' parts the places that their programs may write.
func noteWalls(u *upRun) error {
	f := u.facts
	if f.desired.Runtime != config.RuntimeProcess || f.desired.Local == nil {
		return nil
	}
	places, err := WritablePlaces(u.at, f.desired.Local, f.root)
	if err != nil {
		return err
	}
	f.landlock = confine.Level()
	for _, a := range f.desired.Agents {
		if a.Resolved != nil {
			a.Resolved.Write = places
		}
	}
	return nil
}

// WritablePlaces are the places of local.write on this machine, without links. It refuses
// those that are not there, and those with the state of instances in them.
func WritablePlaces(at *instance.Locator, l *config.Local, root string) ([]string, error) {
	state, err := at.Root()
	if err != nil {
		return nil, err
	}
	if found, err := filepath.EvalSymlinks(state); err == nil {
		state = found
	}
	top, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, role.Fail(role.Environment, err, "")
	}
	var all []string
	home := env.Home(at.Getenv)
	if i := slices.IndexFunc(l.Write, func(p string) bool { return strings.HasPrefix(p, "~") }); i >= 0 && home == "" {
		return nil, role.Fail(role.Usage, fmt.Errorf("local.write: %s: there is no home directory", role.Clean(l.Write[i])), "set HOME to an absolute path")
	}
	for i, place := range l.Places(root, home) {
		said := l.Write[i]
		found, err := filepath.EvalSymlinks(place)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, role.Fail(role.Usage, fmt.Errorf("local.write: %s does not exist", role.Clean(said)), "make it first: mkdir -p %s", role.Clean(at.Tilde(place)))
		case err != nil:
			return nil, role.Fail(role.Usage, fmt.Errorf("local.write: %w", err), "")
		case instance.Within(place, root) && !instance.Within(found, top):
			return nil, role.Fail(role.Usage, fmt.Errorf("local.write: %s: %w", role.Clean(said), repofile.ErrOutside), "name the directory that is meant")
		case instance.Within(state, found) || instance.Within(found, state):
			return nil, role.Fail(role.Usage, fmt.Errorf("local.write: %s is where Sett keeps its instances (%s), or has it inside", role.Clean(said), role.Clean(at.Tilde(state))),
				"name the directories that programs need, such as ~/.cache")
		}
		all = append(all, found)
	}
	return all, nil
}

// noteLocal says how far programs of local mode are kept from files.
func (p *Plan) noteLocal(f *facts) {
	told := p.state.Told && (f.last == nil || (f.last.Local == nil) == (f.desired.Local == nil)) // that there are walls, or that there are none
	switch {
	case f.desired.Runtime != config.RuntimeProcess:
	case f.desired.Local == nil && !told:
		p.note(&p.atEnd, "local mode isolates nothing: agents run as you, with your files and your network, and nothing keeps a tool from your repository or from a read-only tree; local: {write: []} in sett.yml does, on Linux")
	case f.desired.Local == nil:
	case len(confine.Gaps(f.landlock)) > 0:
		p.note(&p.atEnd, "warning: %s", confine.Say(f.landlock))
	case !told:
		p.note(&p.atEnd, "local mode: agents run as you, read your files and use your network; %s", confine.Say(f.landlock))
	}
}

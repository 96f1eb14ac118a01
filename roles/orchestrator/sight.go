package orchestrator

import (
	"os"
	"path/filepath"

	"sett/blackboard"
	"sett/roles/role"
)

// sight keeps the blackboard as it was seen last in a file beside the configuration, for
// the next process: what sett up gave us is as old as that sett up, and an older copy of
// the blackboard may be newer than that.
type sight struct {
	file string
	kept blackboard.Mark
}

func sightBeside(config string) *sight {
	return &sight{file: filepath.Join(filepath.Dir(config), role.SightFile)}
}

// after returns the mark with what an earlier process saw. A file that cannot be read
// tells nothing.
func (s *sight) after(m blackboard.Mark) blackboard.Mark {
	raw, err := os.ReadFile(s.file)
	if err != nil {
		return m
	}
	if s.kept, err = blackboard.ParseMark(string(raw)); err != nil {
		return m
	}
	return m.After(s.kept)
}

// keep writes a new sight. It is whole or not there at all; the end of the machine may
// take the last ones with it.
func (s *sight) keep(m blackboard.Mark) error {
	if m == s.kept {
		return nil
	}
	if err := os.WriteFile(s.file+".new", []byte(m.String()), 0o600); err != nil {
		return err
	}
	if err := os.Rename(s.file+".new", s.file); err != nil {
		return err
	}
	s.kept = m
	return nil
}

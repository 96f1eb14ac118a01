package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sett/contract/config"
	"sett/roles/role"
)

// State is what is kept of an instance, in instance.json of its directory. It
// holds the blackboard's password and is readable for its owner alone.
type State struct {
	Name       string    `json:"name"`
	Workspace  string    `json:"workspace"`   // absolute, without symbolic links
	ConfigFile string    `json:"config_file"` // absolute
	Runtime    string    `json:"runtime"`     // config.RuntimeProcess or config.RuntimeDocker
	URL        string    `json:"url"`         // of the blackboard, with its password
	External   bool      `json:"external"`    // the blackboard is the user's own
	CreatedAt  time.Time `json:"created_at"`
	Run        string    `json:"run"`              // id of the last `sett up` that started it
	Sett       string    `json:"sett,omitempty"`   // which sett started it, and with it runs; empty: one before this was kept
	Told       bool      `json:"told"`             // what there is to know about its runtime
	Health     string    `json:"health,omitempty"` // 127.0.0.1:PORT, of the orchestrator's /healthz and /metrics

	// With runtime docker:
	Embedded  bool      `json:"embedded,omitempty"`  // the blackboard is sett's own, in a container
	Host      bool      `json:"host,omitempty"`      // the orchestrator is a process of this machine
	Control   string    `json:"control,omitempty"`   // id of the image that the orchestrator runs in
	StartedAt time.Time `json:"started_at,omitzero"` // when the sett up of Run began
}

// instance is an instance that exists: its state, and where that is kept.
type instance struct {
	State
	dir   string
	moved string // where its health is served after all; empty: where the state says
}

func (in *instance) statePath() string    { return filepath.Join(in.dir, "instance.json") }
func (in *instance) configPath() string   { return filepath.Join(in.dir, "config.json") }
func (in *instance) logsDir() string      { return filepath.Join(in.dir, "logs") }
func (in *instance) stoppingPath() string { return filepath.Join(in.dir, "stopping") }

// known says whether this user's state directory has the instance, and with it the
// password of its blackboard.
func (in *instance) known() bool { return exists(in.statePath()) }

// save writes the state, as a whole or not at all.
func (in *instance) save() error { return writeFile(in.statePath(), in.State) }

// config reads the configuration that the instance was last started with.
func (in *instance) config() (*config.Config, error) {
	var c config.Config
	if err := readFile(in.configPath(), &c); err != nil {
		return nil, fmt.Errorf("read configuration of %s: %w", in.Name, err)
	}
	return &c, nil
}

// stateRoot returns the directory that holds one directory per instance.
func (a *app) stateRoot() (string, error) {
	if dir := a.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) { // the XDG specification ignores others
		return filepath.Join(dir, "sett"), nil
	}
	home := a.Getenv("HOME")
	if home == "" {
		return "", role.Fail(role.Environment, errors.New("find state directory: HOME is not set"), "set HOME or XDG_STATE_HOME")
	}
	return filepath.Join(home, ".local", "state", "sett"), nil
}

// instances returns all instances there are, by name. What cannot be read is
// left out, with a word about it.
func (a *app) instances() ([]*instance, error) {
	root, err := a.stateRoot()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, role.Fail(role.Environment, fmt.Errorf("list instances: %w", err), "instances are kept below XDG_STATE_HOME")
	}
	var all []*instance
	for _, e := range entries {
		if !e.IsDir() || config.ValidInstanceName(e.Name()) != nil {
			continue
		}
		in, err := loadInstance(filepath.Join(root, e.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist): // being made, or being purged
		case err != nil:
			a.sayf("sett: warning: %v\n", err)
		default:
			all = append(all, in)
		}
	}
	return all, nil
}

// loadInstance reads the instance kept in dir; fs.ErrNotExist when there is none.
func loadInstance(dir string) (*instance, error) {
	in := &instance{dir: dir}
	if err := readFile(in.statePath(), &in.State); err != nil {
		return nil, fmt.Errorf("read instance %s: %w", filepath.Base(dir), err)
	}
	if in.Name != filepath.Base(dir) {
		return nil, fmt.Errorf("read instance %s: its state is that of %q", filepath.Base(dir), clean(in.Name))
	}
	return in, nil
}

func names(all []*instance) []string {
	out := make([]string, len(all))
	for i, in := range all {
		out[i] = in.Name
	}
	slices.Sort(out)
	return out
}

func readFile(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// writeFile replaces a file as a whole, and has it on disk when it returns: who
// is killed at any moment leaves the old or the new one.
func writeFile(path string, v any) (err error) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // made with mode 0600
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
			err = fmt.Errorf("write state: %w", err)
		}
	}()
	_, err = f.Write(append(b, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// tilde shortens a path below the home directory for people.
func (a *app) tilde(path string) string {
	home := a.Getenv("HOME")
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok && home != "" {
		return filepath.Join("~", rest)
	}
	return path
}

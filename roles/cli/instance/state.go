package instance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cli/pin"
	"sett/roles/role"
)

// State is the record of an instance, in instance.json of its directory. It holds the
// blackboard's password, so only its owner can read it.
type State struct {
	Name       string    `json:"name"`
	Workspace  string    `json:"workspace"`       // absolute, without symbolic links
	ConfigFile string    `json:"config_file"`     // absolute
	Runtime    string    `json:"runtime"`         // config.RuntimeProcess or config.RuntimeDocker
	URL        string    `json:"url"`             // of the blackboard, with its password
	External   bool      `json:"external"`        // the blackboard is the user's own
	UpAt       string    `json:"up_at,omitempty"` // the blackboard with which it was up last, without a login; empty: it never was, or with an older sett only
	CreatedAt  time.Time `json:"created_at"`
	Run        string    `json:"run"`                   // id of the last `sett up` that started it
	Sett       string    `json:"sett,omitempty"`        // the version of sett that started it; empty: older than this field
	Told       bool      `json:"told"`                  // sett up has printed the notices about its runtime
	Unpinned   []string  `json:"unpinned,omitempty"`    // commands of which sett up has said that they run files that are not pinned
	ToldValues bool      `json:"told_values,omitempty"` // sett up has said that values of variables may have references
	ValuesKey  string    `json:"values_key,omitempty"`  // of the digests by which sett up notices new values of the host's variables
	OnEngine   bool      `json:"on_engine,omitempty"`   // it ran in containers before: the engine may keep a ledger of it
	VariableCA bool      `json:"variable_ca,omitempty"` // SETT_REDIS_CA_FILE named the CA of its Redis, not sett.yml
	Unrecorded []string  `json:"unrecorded,omitempty"`  // names of settings that a sett up changed before it ended, without an entry in the ledger
	Down       bool      `json:"down,omitempty"`        // sett down has ended it since
	Health     string    `json:"health,omitempty"`      // 127.0.0.1:PORT, of the orchestrator's /healthz and /metrics

	// Of the role that prepares the agents' trees:
	Repository    string `json:"repository,omitempty"`     // HOST:PORT, where agents reach it
	First         string `json:"first_commit,omitempty"`   // of the user's repository
	ID            string `json:"repository_id,omitempty"`  // of the user's repository, if agreed rights are bound to it
	GitDir        string `json:"git_dir,omitempty"`        // of the user's repository, the one that all its working trees share
	RepositoryKey string `json:"repository_key,omitempty"` // the secret of which their tokens are made

	// Of the model gateway:
	ModelGateway string `json:"model_gateway,omitempty"`     // HOST:PORT, where processes reach it
	GatewayKey   string `json:"model_gateway_key,omitempty"` // the secret of which agents' tokens are made

	// With runtime docker:
	Embedded  bool      `json:"embedded,omitempty"`  // the blackboard is sett's own, in a container
	Host      bool      `json:"host,omitempty"`      // the orchestrator is a process of this machine
	Control   string    `json:"control,omitempty"`   // id of the image that the orchestrator runs in, and the volume of the binary in a foreign one
	StartedAt time.Time `json:"started_at,omitzero"` // when the sett up of Run began

	Builds map[string]string `json:"builds,omitempty"` // of agents with build: digests by which a dry run knows that nothing would be built anew
}

// Instance is an instance: its state, and the directory of that state.
type Instance struct {
	State
	Dir string
	// Damage is the reason that its state cannot be read; the State is mended then, from
	// what runs. nil: the state is as it was written.
	Damage  error
	Lost    bool   // its state directory is gone, and processes of it run
	Foreign bool   // the engine alone tells of it; a state in Dir is that of another one of the name
	Images  int    // the engine has so many images that were built for it, and nothing else is known of it; 0: more is
	moved   string // the health address that MoveHealth chose; empty: the state's
}

// StatePath is the path of the file with the state.
func (in *Instance) StatePath() string { return filepath.Join(in.Dir, "instance.json") }

// ConfigPath is the path of the configuration that the instance was last started with.
func (in *Instance) ConfigPath() string { return filepath.Join(in.Dir, "config.json") }

// Pins are the sets of pinned files that the instance's units run.
func (in *Instance) Pins() pin.Store { return pin.Store{Dir: filepath.Join(in.Dir, "pins")} }

// PinnedPath is the path of the list of the files that the last sett up pinned.
func (in *Instance) PinnedPath() string { return filepath.Join(in.Dir, "pinned.json") }

// StoreDir is the directory of the instance's store, a bare git repository.
func (in *Instance) StoreDir() string { return filepath.Join(in.Dir, "store") }

// TreesDir is the directory of the agents' private trees.
func (in *Instance) TreesDir() string { return filepath.Join(in.Dir, "trees") }

// ModelKeysPath is the path of the file with the keys of models. It is there while the model
// gateway is a container, until sett down.
func ModelKeysPath(in *Instance) string { return filepath.Join(in.Dir, "model-keys.json") }

// ModelAnswersDir is the directory of the models' answers to running grants.
func ModelAnswersDir(in *Instance) string { return filepath.Join(in.Dir, "model-answers") }

// DropModelKeys removes the file with the keys of models.
func DropModelKeys(in *Instance) error {
	err := os.Remove(ModelKeysPath(in))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the keys of models: %w", err)
	}
	return nil
}

// LogsDir is the directory of the logs.
func (in *Instance) LogsDir() string { return filepath.Join(in.Dir, "logs") }

func (in *Instance) stoppingPath() string { return filepath.Join(in.Dir, "stopping") }

// Known says whether this user's state directory has the instance, and with it the
// password of its blackboard.
func (in *Instance) Known() bool { return Exists(in.StatePath()) }

// Save writes the state, as a whole or not at all.
func (in *Instance) Save() error { return WriteFile(in.StatePath(), in.State) }

// Config reads the configuration that the instance was last started with, by any sett.
func (in *Instance) Config() (*config.Config, error) {
	text, err := os.ReadFile(in.ConfigPath())
	var c *config.Config
	if err == nil {
		if c, err = config.Kept(text); err != nil {
			err = fmt.Errorf("%s: %w", in.ConfigPath(), err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration of %s: %w", in.Name, err)
	}
	if in.External && c.Redis.URL == Redact(in.URL) {
		c.Redis.URL, c.Services.Redis.URL = in.URL, in.URL
	}
	return c, nil
}

// SaveConfig writes the configuration, for the parts too. The password of a Redis of the user's own is in the state alone.
func SaveConfig(in *Instance, c *config.Config) error {
	kept := *c
	if kept.Redis.URL != "" {
		kept.Redis.URL, kept.Services.Redis.URL = Redact(kept.Redis.URL), Redact(kept.Redis.URL)
	}
	return WriteFile(in.ConfigPath(), &kept)
}

// Root returns the directory that holds one directory per instance.
func (l *Locator) Root() (string, error) {
	if dir := l.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) { // the XDG specification ignores others
		return filepath.Join(dir, "sett"), nil
	}
	home := env.Home(l.Getenv)
	if home == "" {
		fault := "is not set"
		if relative := l.Getenv("HOME"); relative != "" {
			fault = fmt.Sprintf("is no absolute path: %s", role.Clean(relative))
		}
		return "", role.Fail(role.Environment, fmt.Errorf("find state directory: HOME %s", fault), "set HOME or XDG_STATE_HOME to an absolute path")
	}
	return filepath.Join(home, ".local", "state", "sett"), nil
}

// All returns all instances, sorted by name. It leaves out an instance that it cannot
// read, and warns about it.
func (l *Locator) All() ([]*Instance, error) {
	root, err := l.Root()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, role.Fail(role.Environment, fmt.Errorf("list instances: %w", err), "instances are kept below XDG_STATE_HOME")
	}
	var all []*Instance
	for _, e := range entries {
		if !e.IsDir() || config.ValidInstanceName(e.Name()) != nil {
			continue
		}
		in, err := LoadInstance(filepath.Join(root, e.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist): // being made or removed
		case err != nil:
			l.Sayf("sett: warning: %v\n", err)
			var e *role.Error
			if errors.As(err, &e) && e.Hint != "" {
				l.Sayf("sett: hint: %s\n", e.Hint)
			}
		default:
			if in.Damage != nil {
				l.Sayf("sett: warning: instance %s: %v: %v\n", in.Name, errDamaged, in.Damage)
				l.Sayf("sett: hint: sett down --name %s ends what runs of it and mends the state; sett up goes on then\n", in.Name)
			}
			all = append(all, in)
		}
	}
	return all, nil
}

// LoadInstance reads the instance in dir; fs.ErrNotExist when there is none, errDamaged
// when its state was only written in part and nothing tells the rest.
func LoadInstance(dir string) (*Instance, error) {
	in := &Instance{Dir: dir}
	err := ReadFile(in.StatePath(), &in.State)
	var unread *fs.PathError
	switch {
	case errors.As(err, &unread):
		return nil, fmt.Errorf("read instance %s: %w", filepath.Base(dir), err)
	case err != nil:
		mended, ok := mend(dir)
		if !ok {
			return nil, damaged(filepath.Base(dir), err)
		}
		in.State, in.Damage = mended, err
	}
	if in.Name != filepath.Base(dir) {
		return nil, fmt.Errorf("read instance %s: its state is that of %q", filepath.Base(dir), role.Clean(in.Name))
	}
	return in, nil
}

// Names returns the names of the instances, sorted.
func Names(all []*Instance) []string {
	out := make([]string, len(all))
	for i, in := range all {
		out[i] = in.Name
	}
	slices.Sort(out)
	return out
}

// ReadFile reads a JSON file into v.
func ReadFile(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// WriteFile replaces a file as a whole and syncs it to disk. A process that is killed
// during it leaves the old file or the new one.
func WriteFile(path string, v any) (err error) {
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

// Admin is the administrator's password of sett's own blackboard.
func (in *Instance) Admin() string {
	at, err := url.Parse(in.URL)
	if err != nil || at.User == nil {
		return ""
	}
	password, _ := at.User.Password()
	return password
}

// Alias is the blackboard's name on the instance's networks.
func (in *Instance) Alias() string { return redis.Host(in.Name) }

package instance

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/runtime/repofile"
)

// ConfigName is the name of the configuration file.
const ConfigName = "sett.yml"

// Flags are the flags that say where sett.yml and the instance are.
type Flags struct {
	Directory string `short:"C" placeholder:"DIR" help:"Work as if started in DIR."`
	Config    string `short:"f" placeholder:"FILE" help:"Use FILE instead of sett.yml."`
	Name      string `placeholder:"NAME" help:"Name of the instance (default: $$SETT_INSTANCE, else the one of this workspace)."`
}

// Locator finds the instance that a command means, its workspace, its sett.yml, its
// place and its board.
type Locator struct {
	*term.Terminal
	Flags   Flags
	Acts    bool    // the command changes the board; others only read
	engines *Engine // of containers; opened by the first use
	told    *told   // instances with a board of another workspace
}

// New returns a locator that warns on the terminal. The caller calls Close.
func New(on *term.Terminal, f Flags) *Locator {
	return &Locator{Terminal: on, Flags: f, engines: &Engine{}, told: &told{}}
}

// With returns a locator for other flags, on the same engine.
func (l *Locator) With(on *term.Terminal, f Flags) *Locator {
	return &Locator{Terminal: on, Flags: f, Acts: l.Acts, engines: l.engines, told: l.told}
}

// Directory returns the command's directory: -C, else the current directory,
// absolute and without symbolic links.
func (l *Locator) Directory() (string, error) {
	dir := l.Flags.Directory
	if dir == "" {
		dir = "."
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(abs); err == nil && !info.IsDir() {
			err = errors.New("not a directory")
		}
	}
	if err != nil {
		return "", role.Fail(role.Usage, fmt.Errorf("use directory %s: %w", role.Clean(dir), role.Cause(err)), "-C takes an existing directory")
	}
	return abs, nil
}

// Upward returns the first directory, from dir up, that has an entry of that name;
// false: none has.
func Upward(dir, name string) (string, bool) {
	for {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return dir, true
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
		dir = filepath.Dir(dir)
	}
}

// WithTree returns an error for a directory in a bare git repository: it has no working tree
// for a sett.yml, and files beside its refs are nobody's.
func WithTree(dir string) error {
	for up := dir; ; up = filepath.Dir(up) {
		found := 0
		for _, name := range []string{"HEAD", "objects", "refs"} {
			if _, err := os.Stat(filepath.Join(up, name)); err == nil {
				found++
			}
		}
		if found == 3 {
			bare := &bareError{up}
			return role.Fail(role.Usage, bare, "%s", bare.remedy())
		}
		if up == filepath.Dir(up) {
			return nil
		}
	}
}

// bareError is that of a bare git repository at a path.
type bareError struct{ path string }

func (e *bareError) Error() string {
	return e.path + " is a bare git repository: it has no working tree"
}

func (e *bareError) remedy() string {
	return "work in a clone of it: git clone " + role.ShellWord(e.path)
}

// Workspace returns the root of the git repository that the directory belongs
// to, else the directory, from there up, that has a sett.yml.
func (l *Locator) Workspace() (string, error) {
	dir, err := l.Directory()
	if err != nil {
		return "", err
	}
	for _, name := range []string{".git", ConfigName} {
		if root, ok := Upward(dir, name); ok {
			return root, nil
		}
	}
	if err := WithTree(dir); err != nil {
		return "", err
	}
	return "", role.Fail(role.Usage, fmt.Errorf("no workspace: %s is in no git repository and has no %s", dir, ConfigName),
		"git init && sett init, or name a workspace with -C DIR or an instance with --name NAME")
}

// ConfigFile returns the path of the configuration: -f, else the nearest sett.yml from
// the directory up to the workspace's root.
func (l *Locator) ConfigFile() (string, error) {
	dir, err := l.Directory()
	if err != nil {
		return "", err
	}
	if f := l.Flags.Config; f != "" {
		if !filepath.IsAbs(f) {
			f = filepath.Join(dir, f)
		}
		return f, nil
	}
	root, err := l.Workspace()
	if err != nil {
		return "", err
	}
	if found, ok := Upward(dir, ConfigName); ok && Within(found, root) {
		dir = found
	} else {
		dir = root
	}
	return filepath.Join(dir, ConfigName), nil
}

// Within reports whether a path is root or below it.
func Within(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// Config reads sett.yml and returns it with its path. The runtime of a file that names none
// is KeptRuntime, unless an option says otherwise.
func (l *Locator) Config(options ...config.Option) (*config.Config, string, error) {
	path, err := l.ConfigFile()
	if err != nil {
		return nil, "", err
	}
	src, err := Source(l, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, path, noConfig(path)
	}
	if err != nil {
		hint := ""
		if errors.Is(err, repofile.ErrOutside) {
			hint = "name the file that is meant: -f FILE"
		}
		return nil, path, role.Fail(role.Usage, fmt.Errorf("read configuration %s: %w", path, err), "%s", hint)
	}
	c, err := config.Parse(l.Relative(path), src, append([]config.Option{KeptRuntime(l)}, options...)...)
	if err != nil {
		return nil, path, role.Fail(role.Usage, errors.New(role.CleanText(err.Error())), "")
	}
	return c, path, nil
}

// noConfig is the error of a sett.yml that is not there. It names the likely one: a link that leads nowhere, or the other usual ending.
func noConfig(path string) error {
	to, err := os.Readlink(path)
	other := strings.TrimSuffix(path, ".yml") + ".yaml"
	switch {
	case err == nil:
		return role.Fail(role.Usage, fmt.Errorf("no configuration: %s is a link to %s, which does not exist", path, to), "bring that file back, or name another: -f FILE")
	case other != path && strings.HasSuffix(path, ".yml") && Exists(other):
		return role.Fail(role.Usage, fmt.Errorf("no configuration: %s does not exist, but %s does", path, filepath.Base(other)), "mv %s %s, or -f %s", role.ShellWord(other), role.ShellWord(path), role.ShellWord(other))
	}
	return role.Fail(role.Usage, fmt.Errorf("no configuration: %s does not exist", path), "sett init writes one, -f FILE names another")
}

// KeptRuntime has a file without a runtime read with that of the existing instance: with
// another one, sett up would start it with another, empty ledger.
func KeptRuntime(l *Locator) config.Option {
	quiet, before := *l.Terminal, ""
	quiet.Stderr = io.Discard // the command itself warns about instances, or is not about them
	if in, err := l.With(&quiet, l.Flags).Find(); err == nil {
		before = in.Runtime
	}
	return config.DefaultRuntime(before)
}

// Source returns the text of a configuration. In the workspace, no link leads out of it;
// a file elsewhere was named by the user.
func Source(l *Locator, path string) ([]byte, error) {
	root, err := l.Workspace()
	if err != nil || !Within(path, root) {
		root = ""
	}
	return repofile.Read(root, path, config.MaxSource)
}

// Relative returns a path below the current directory relative to it, and any other
// path unchanged.
func (l *Locator) Relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if resolved, err := filepath.EvalSymlinks(wd); err == nil {
		wd = resolved
	}
	if !Within(path, wd) {
		return path
	}
	rel, err := filepath.Rel(wd, path)
	if err != nil {
		return path
	}
	return rel
}

// Named returns the instance's name if the user gave one.
func (l *Locator) Named() (string, error) {
	name, from := l.Flags.Name, "--name"
	if name == "" {
		name, from = l.Getenv(env.DefaultName), env.DefaultName
	}
	if name == "" {
		return "", nil
	}
	if err := config.ValidInstanceName(name); err != nil {
		return "", role.Fail(role.Usage, fmt.Errorf("%s: %q cannot name an instance: %w", from, role.Clean(name), err), "such as %s", config.MakeInstanceName(name))
	}
	return name, nil
}

// Find returns the existing instance that the command means: the one that the user
// named, else the one of this workspace.
func (l *Locator) Find() (*Instance, error) {
	all, err := l.All()
	if err != nil {
		return nil, err
	}
	in, err := findAmong(l, all)
	if role.CodeOf(err) == role.NotFound {
		if lost := lostOne(l, all); lost != nil {
			err = role.Fail(role.NotFound, fmt.Errorf("the state directory of instance %s is gone: %s", lost.Name, lost.Dir), "%s", lost.LostCure())
		}
	}
	return in, err
}

// findAmong is Find among these.
func findAmong(l *Locator, all []*Instance) (*Instance, error) {
	name, err := l.Named()
	if err != nil {
		return nil, err
	}
	if name != "" {
		i := slices.IndexFunc(all, func(in *Instance) bool { return in.Name == name })
		if i < 0 {
			return nil, role.Fail(role.NotFound, fmt.Errorf("no instance %s", name), "%s",
				words.DidYouMean(name, Names(all), "sett up starts one"))
		}
		return all[i], nil
	}
	root, err := l.Workspace()
	if err != nil {
		var hints []string
		if bare := (*bareError)(nil); errors.As(err, &bare) {
			hints = append(hints, bare.remedy())
		} else if len(all) == 0 {
			hints = append(hints, "there is no instance at all; sett init && sett up makes one")
		}
		if len(all) > 0 {
			hints = append(hints, "name an instance with --name: "+strings.Join(Names(all), ", "))
		}
		return nil, role.Fail(role.NotFound, err, "%s", strings.Join(hints, ", or "))
	}
	in, err := OfWorkspace(all, root)
	if err == nil && in == nil {
		hint := "sett up"
		if len(all) > 0 {
			hint += " starts one, sett list shows those of other workspaces"
		}
		if gone := slices.IndexFunc(all, func(in *Instance) bool { return in.Workspace != "" && !Exists(in.Workspace) }); gone >= 0 {
			hint = fmt.Sprintf("sett up --name %s, if this repository was moved from %s; else %s", all[gone].Name, role.Clean(all[gone].Workspace), hint)
		}
		if other := ofRepository(all, root); other != nil {
			hint = fmt.Sprintf("instance %s works on this repository in %s: --name %s means it; sett up starts another one here", other.Name, role.Clean(other.Workspace), other.Name)
		}
		err = role.Fail(role.NotFound, fmt.Errorf("no instance of workspace %s", root), "%s", hint)
	}
	return in, err
}

// OfWorkspace returns the instance of a workspace: the only one, or among several the
// one with the name of the workspace's directory; nil when the workspace has none.
func OfWorkspace(all []*Instance, root string) (*Instance, error) {
	var own []*Instance
	for _, in := range all {
		if in.Workspace == root {
			own = append(own, in)
		}
	}
	if len(own) == 1 {
		return own[0], nil
	}
	for _, in := range own {
		if in.Name == config.MakeInstanceName(filepath.Base(root)) {
			return in, nil
		}
	}
	if len(own) > 1 {
		return nil, role.Fail(role.Usage, fmt.Errorf("workspace %s has several instances: %s", root, strings.Join(Names(own), ", ")),
			"choose one with --name, such as --name %s", own[0].Name)
	}
	return nil, nil
}

// Path returns the path of a file that the user typed. A relative one starts at -C,
// else at the current directory.
func (l *Locator) Path(name string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	dir, err := l.Directory()
	return filepath.Join(dir, name), err
}

package instance

import (
	"fmt"
	"os"
	"strings"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/role"
)

// UpLine is the sett up command that starts exactly this instance from the current
// directory. It names the directory, the file, the instance and the runtime where sett up
// would not find them by itself.
func (l *Locator) UpLine(in *Instance) string {
	at := l.With(l.Terminal, Flags{})
	words := []string{"sett"}
	if here, err := at.Workspace(); err != nil || here != in.Workspace {
		at.Flags.Directory = in.Workspace
		words = append(words, "-C", role.ShellWord(in.Workspace))
	}
	if file, err := at.ConfigFile(); in.ConfigFile != "" && (err != nil || file != in.ConfigFile) {
		at.Flags.Config = in.ConfigFile
		words = append(words, "-f", role.ShellWord(in.ConfigFile))
	}
	words = append(words, "up")
	if at.upFinds(in.Workspace) != in.Name {
		words = append(words, "--name", in.Name)
	}
	if c, _, err := at.Config(config.DefaultRuntime(in.Runtime)); err == nil && in.Runtime != "" && c.Runtime != in.Runtime {
		words = append(words, "--runtime", in.Runtime)
	}
	return role.Clean(strings.Join(words, " "))
}

// upFinds is the name of the instance that a sett up for the workspace takes without
// --name; empty: unknown, or sett up makes a new one.
func (l *Locator) upFinds(root string) string {
	if name, err := l.Named(); err != nil || name != "" {
		return name
	}
	all, err := l.All()
	if err != nil {
		return ""
	}
	if own, err := OfWorkspace(all, root); err == nil && own != nil {
		return own.Name
	}
	return ""
}

// down is the error about an instance that does not do what it does while it runs.
type down struct {
	says string
	is   error
}

func (e *down) Error() string { return e.says }

// Is says whether the error is that of the instance's state.
func (e *down) Is(err error) bool { return err == e.is }

// notRunning is the error about an instance that does not run: role.ErrNotRunning.
func (l *Locator) notRunning(in *Instance) error {
	return role.Fail(role.NotFound, &down{fmt.Sprintf("instance %s is not running", in.Name), role.ErrNotRunning}, "%s", l.UpLine(in))
}

// TakesNo is the error about an instance that is being stopped and takes nothing new, such as
// goals: blackboard.ErrStopping.
func TakesNo(l *Locator, in *Instance, what string) error {
	says := fmt.Sprintf("instance %s is being stopped and takes no new %s", in.Name, what)
	return role.Fail(role.NotFound, &down{says, blackboard.ErrStopping}, "%s", l.UpLine(in))
}

// Stopping says whether the instance is being stopped, or a stop of it broke off.
func (in *Instance) Stopping() bool { return Exists(in.stoppingPath()) }

// SetStopping sets or removes the mark that the instance is being stopped. The keeper
// starts no unit while the mark is there.
func (in *Instance) SetStopping(stopping bool) error {
	if stopping {
		if err := os.WriteFile(in.stoppingPath(), nil, 0o600); err != nil {
			return fmt.Errorf("mark instance %s stopping: %w", in.Name, err)
		}
		return nil
	}
	if err := os.Remove(in.stoppingPath()); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("mark instance %s running: %w", in.Name, err)
	}
	return nil
}

// CommandLine is a command on this instance, to type in the current directory.
func (l *Locator) CommandLine(in *Instance, args string) string {
	if l.Flags.Name == "" && l.Flags.Directory == "" {
		return "sett " + args
	}
	return "sett --name " + in.Name + " " + args
}

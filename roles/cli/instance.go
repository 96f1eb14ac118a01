package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/role"
)

const configName = "sett.yml"

// directory returns where the command works: -C, else the current directory,
// absolute and without symbolic links.
func (a *app) directory() (string, error) {
	dir := a.flags.Directory
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
		return "", role.Fail(role.Usage, fmt.Errorf("use directory %s: %w", clean(dir), cause(err)), "-C takes an existing directory")
	}
	return abs, nil
}

// cause strips the operation and path from what package os says, where the
// message around it has them already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// upward returns the first directory, from dir up, that has an entry of that name.
func upward(dir, name string) (string, bool) {
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

// workspace returns the root of the git repository that the directory belongs
// to, else the directory, from there up, that has a sett.yml.
func (a *app) workspace(context.Context) (string, error) {
	dir, err := a.directory()
	if err != nil {
		return "", err
	}
	for _, name := range []string{".git", configName} {
		if root, ok := upward(dir, name); ok {
			return root, nil
		}
	}
	return "", role.Fail(role.Usage, fmt.Errorf("no workspace: %s is in no git repository and has no %s", dir, configName),
		"git init && sett init, or name a workspace with -C DIR or an instance with --name NAME")
}

// configFile returns the path of the configuration: -f, else the sett.yml that is
// nearest, from the directory up to the workspace's root.
func (a *app) configFile(ctx context.Context) (string, error) {
	dir, err := a.directory()
	if err != nil {
		return "", err
	}
	if f := a.flags.Config; f != "" {
		if !filepath.IsAbs(f) {
			f = filepath.Join(dir, f)
		}
		return f, nil
	}
	root, err := a.workspace(ctx)
	if err != nil {
		return "", err
	}
	if found, ok := upward(dir, configName); ok && within(found, root) {
		dir = found
	} else {
		dir = root
	}
	return filepath.Join(dir, configName), nil
}

func within(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// configuration reads sett.yml and returns it with its path.
func (a *app) configuration(ctx context.Context, options ...config.Option) (*config.Config, string, error) {
	path, err := a.configFile(ctx)
	if err != nil {
		return nil, "", err
	}
	src, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, path, role.Fail(role.Usage, fmt.Errorf("no configuration: %s does not exist", path),
			"sett init writes one, -f FILE names another")
	}
	if err != nil {
		return nil, path, role.Fail(role.Usage, fmt.Errorf("read configuration %s: %w", path, cause(err)), "")
	}
	c, err := config.Parse(a.relative(path), src, options...)
	if err != nil {
		return nil, path, role.Fail(role.Usage, errors.New(cleanText(err.Error())), "")
	}
	return c, path, nil
}

// relative returns the path as seen from the current directory, where that is
// below it.
func (a *app) relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if resolved, err := filepath.EvalSymlinks(wd); err == nil {
		wd = resolved
	}
	if !within(path, wd) {
		return path
	}
	rel, err := filepath.Rel(wd, path)
	if err != nil {
		return path
	}
	return rel
}

// wanted returns the instance's name if the user gave one.
func (a *app) wanted() (string, error) {
	name, from := a.flags.Name, "--name"
	if name == "" {
		name, from = a.Getenv(env.DefaultName), env.DefaultName
	}
	if name == "" {
		return "", nil
	}
	if err := config.ValidInstanceName(name); err != nil {
		return "", role.Fail(role.Usage, fmt.Errorf("%s: %q cannot name an instance: %w", from, clean(name), err), "such as %s", config.MakeInstanceName(name))
	}
	return name, nil
}

// instance returns the instance that is meant and exists: the one that was named,
// else that of this workspace.
func (a *app) instance(ctx context.Context) (*instance, error) {
	all, err := a.instances()
	if err != nil {
		return nil, err
	}
	name, err := a.wanted()
	if err != nil {
		return nil, err
	}
	if name != "" {
		i := slices.IndexFunc(all, func(in *instance) bool { return in.Name == name })
		if i < 0 {
			return nil, role.Fail(role.NotFound, fmt.Errorf("no instance %s", name), "%s",
				didYouMean(name, names(all), "sett up starts one"))
		}
		return all[i], nil
	}
	root, err := a.workspace(ctx)
	if err != nil {
		if len(all) == 0 {
			return nil, role.Fail(role.NotFound, err, "there is no instance at all; sett init && sett up makes one")
		}
		return nil, role.Fail(role.NotFound, err, "name an instance with --name: %s", strings.Join(names(all), ", "))
	}
	in, err := ofWorkspace(all, root)
	if err == nil && in == nil {
		hint := "sett up"
		if len(all) > 0 {
			hint += " starts one, sett list shows those of other workspaces"
		}
		err = role.Fail(role.NotFound, fmt.Errorf("no instance of workspace %s", root), "%s", hint)
	}
	return in, err
}

// ofWorkspace returns the instance of a workspace: the only one, or of several
// that which bears its name; nil when there is none.
func ofWorkspace(all []*instance, root string) (*instance, error) {
	var own []*instance
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
		return nil, role.Fail(role.Usage, fmt.Errorf("workspace %s has several instances: %s", root, strings.Join(names(own), ", ")),
			"choose one with --name, such as --name %s", own[0].Name)
	}
	return nil, nil
}

// quiet is the logger of what works for a command: people read its result.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

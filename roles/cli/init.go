package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sett/agents"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/git"
)

type initCmd struct {
	Force  bool `help:"Overwrite files that exist."`
	Commit bool `help:"Commit what was written."`
}

// Help is shown by `sett init --help`.
func (initCmd) Help() string {
	return `Writes sett.yml, with comments, and agents/example-agent/, whose agent works as it is,
into the root of the git repository (without one, into the current directory).
Overwrites nothing unless told to.

Beside them it writes ` + schemaName + `, which the first line of sett.yml names: editors
with a YAML language server complete and check sett.yml by it. Commit it, so that it
does so for everybody; nothing of sett reads it. After an upgrade of sett, sett schema
prints it anew.

Example: sett init --commit && sett up`
}

// Where editors find the schema of sett.yml: beside it, by a path that is right in
// every clone and without a network. A published address would need a host, and one
// of this machine would be committed with the file.
const (
	schemaName = "sett.schema.json"
	schemaLine = "# yaml-language-server: $schema=" + schemaName
)

// starter is a file to write.
type starter struct {
	path string // relative to the workspace, with slashes
	text []byte
	mode fs.FileMode
}

// Run writes the first files of a workspace.
func (c *initCmd) Run(a *app) error {
	dir, err := a.at.Directory()
	if err != nil {
		return err
	}
	root, inGit := instance.Upward(dir, ".git")
	if !inGit {
		root = dir
	}
	files, err := starters()
	if err != nil {
		return err
	}
	if !c.Force {
		if err := refuseExisting(root, files); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := f.write(root); err != nil {
			return role.Fail(role.Failed, err, "")
		}
		a.Printf("wrote %s\n", a.at.Relative(filepath.Join(root, filepath.FromSlash(f.path))))
	}
	own := a.at.With(&a.Terminal, instance.Flags{Directory: root, Config: instance.ConfigName})
	if err := instance.AgreeToOwn(own); err != nil {
		a.Sayf("sett: warning: %v; sett try will ask\n", err)
	}
	return c.commit(a, root, inGit)
}

// starters returns the files, sett.yml last: an interrupted init leaves no sett.yml
// without the files that belong to it.
func starters() ([]starter, error) {
	var files []starter
	err := fs.WalkDir(agents.Init, "example-agent", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := agents.Init.ReadFile(name)
		mode := fs.FileMode(0o644)
		if path.Ext(name) == ".sh" {
			mode = 0o755 // embedding forgets modes
		}
		files = append(files, starter{"agents/" + name, text, mode})
		return err
	})
	if err != nil {
		return nil, err
	}
	text, err := agents.Init.ReadFile(instance.ConfigName)
	return append(files, starter{schemaName, config.Schema(), 0o644},
		starter{instance.ConfigName, append([]byte(schemaLine+"\n"), text...), 0o644}), err
}

func refuseExisting(root string, files []starter) error {
	var exist []string
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(f.path))); err == nil {
			exist = append(exist, f.path)
		}
	}
	if len(exist) == 0 {
		return nil
	}
	verb := "exists"
	if len(exist) > 1 {
		verb = "exist"
	}
	return role.Fail(role.Usage, fmt.Errorf("write %s: %s already %s", root, strings.Join(exist, ", "), verb),
		"sett init --force overwrites them")
}

func (f starter) write(root string) error {
	name := filepath.Join(root, filepath.FromSlash(f.path))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	if err := os.WriteFile(name, f.text, f.mode); err != nil {
		return fmt.Errorf("write %s: %w", f.path, role.Cause(err))
	}
	if err := os.Chmod(name, f.mode); err != nil { // a file that existed keeps its own otherwise
		return fmt.Errorf("write %s: %w", f.path, role.Cause(err))
	}
	return nil
}

// commit commits the written files, or prints the command for that.
func (c *initCmd) commit(a *app, root string, inGit bool) error {
	line := `git add sett.yml ` + schemaName + ` agents/example-agent && git commit -m "Add a sett clan"`
	if dir := a.at.Relative(root); dir != "." {
		line = "cd " + dir + " && " + line
	}
	switch {
	case !inGit && c.Commit:
		return role.Fail(role.Environment, fmt.Errorf("commit: %s is in no git repository", root), "git init && %s", line)
	case !inGit:
		a.Sayf("\nNext:\n  git init\n  %s\n  sett up    # --runtime process: without containers\n", line)
		return nil
	case !c.Commit:
		a.Sayf("\nNext:\n  %s\n  sett up    # --runtime process: without containers\n", line)
		return nil
	}
	g, ours := git.At(a.Environ(), root), []string{"--", instance.ConfigName, schemaName, "agents/example-agent"}
	if _, err := g.Run(a.ctx, append([]string{"add"}, ours...)...); err != nil {
		return err
	}
	if _, err := g.Run(a.ctx, append([]string{"diff", "--cached", "--quiet"}, ours...)...); err == nil {
		a.Sayf("sett: all of it is committed already\n\nNext:\n  sett up    # --runtime process: without containers\n")
		return nil
	}
	if _, err := g.Run(a.ctx, append([]string{"commit", "--quiet", "-m", "Add a sett clan"}, ours...)...); err != nil {
		return err
	}
	head, err := g.Run(a.ctx, "log", "-1", "--format=%h %s")
	if err != nil {
		return err
	}
	a.Printf("committed %s\n", role.Clean(strings.TrimSpace(head)))
	a.Sayf("\nNext:\n  sett up    # --runtime process: without containers\n")
	return nil
}

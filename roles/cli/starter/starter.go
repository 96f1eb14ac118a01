// Package starter has the files that sett init writes into a workspace, and adds agents to
// a sett.yml that is there.
package starter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sett/agents"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/runtime/repofile"
)

// Where editors find the schema of sett.yml: beside it, by a path that is right in
// every clone and without a network. A published address would need a host, and one
// of this machine would be committed with the file.
const (
	SchemaName = "sett.schema.json"
	SchemaLine = "# yaml-language-server: $schema=" + SchemaName
)

// File is a file to write.
type File struct {
	Path string // relative to the workspace, with slashes
	Text []byte
	Mode fs.FileMode
}

// maxInit bounds a file that is compared with that of an example, in bytes.
const maxInit = 1 << 20

// Same says whether the file is in a workspace as it would be written.
func (f File) Same(root string) bool {
	text, err := repofile.Read(root, filepath.Join(root, filepath.FromSlash(f.Path)), maxInit)
	return err == nil && string(text) == string(f.Text)
}

// Paths are those of files.
func Paths(files []File) (all []string) {
	for _, f := range files {
		all = append(all, f.Path)
	}
	return all
}

// Programs are the files beside sett.yml and its schema.
func Programs(files []File) []File {
	return slices.DeleteFunc(slices.Clone(files), func(f File) bool {
		return f.Path == instance.ConfigName || f.Path == SchemaName
	})
}

// Untouched says whether a sett.yml is as sett init alone writes it. Walled is as in Base.
func Untouched(text []byte, walled bool) bool {
	base, err := Base(walled)
	return err == nil && slices.ContainsFunc(base, func(f File) bool {
		return f.Path == instance.ConfigName && string(f.Text) == string(text)
	})
}

// Base returns the files of the example agent, sett.yml last: an interrupted init leaves
// no sett.yml without the files that belong to it. Walled says whether this system can keep
// programs of local mode to their places; sett.yml then wants it.
func Base(walled bool) ([]File, error) {
	var files []File
	err := fs.WalkDir(agents.Init, "example-agent", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := agents.Init.ReadFile(name)
		files = append(files, File{"agents/" + name, text, modeOf(name)})
		return err
	})
	if err != nil {
		return nil, err
	}
	text, err := agents.Init.ReadFile(instance.ConfigName)
	return append(files, schema(), File{instance.ConfigName, []byte(walledText(SchemaLine+"\n"+string(text), walled)), 0o644}), err
}

// walls is the line of a new sett.yml that keeps the programs of local mode to their places.
const walls = "local: {write: []}\n"

// walledText is the text of a new sett.yml, with that line or with it as a comment.
func walledText(text string, walled bool) string {
	if walled {
		return strings.Replace(text, "\n# "+walls, "\n"+walls, 1)
	}
	return text
}

func schema() File { return File{SchemaName, config.Schema(), 0o644} }

// modeOf is the mode of an embedded file: embedding forgets modes.
func modeOf(name string) fs.FileMode {
	if path.Ext(name) == ".sh" {
		return 0o755
	}
	return 0o644
}

// Write writes the file below a folder, through no link that leads out of it.
func (f File) Write(root string) error {
	if err := f.write(root); err != nil {
		return fmt.Errorf("write %s: %w", f.Path, role.Cause(err))
	}
	return nil
}

func (f File) write(root string) error {
	name := filepath.FromSlash(f.Path)
	if _, err := repofile.Place(root, filepath.Join(root, name)); err != nil {
		return err
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if info, err := dir.Stat(name); err == nil {
		if err := repofile.CheckRegular(info.Mode()); err != nil {
			return err
		}
	}
	if err := dir.WriteFile(name, f.Text, f.Mode); err != nil {
		return err
	}
	return dir.Chmod(name, f.Mode) // a file that existed keeps its own otherwise
}

// Kinds are the examples.
var Kinds = []string{"check", "review", "test", "question", "commit", "llm-coder", "llm-reviewer", "llm-clan", "byo"}

// Example has the files and agents that an example adds to a workspace.
type Example struct {
	Files  []File   // sett.yml last
	Agents []string // their names in sett.yml
	Fresh  bool     // there was no sett.yml
}

// makers are the examples that begin the work on a goal, which the other ones look at. The
// first one comes along with those; with those that ask a model, modelMaker does.
var makers = []string{"commit", modelMaker, "llm-clan"}

// head begins a sett.yml of examples.
const head = SchemaLine + "\n" + `# The clan of this workspace. sett up starts it, sett forage gives it a goal, sett plan
# draws it.
version: "1.0"

# Walls of local mode, on Linux: programs write nothing but their own trees and temporary
# files, and do not read Sett's own. write: [~/.cache] names more places.
# local: {write: []}

agents:
`

// Add returns the example as it joins the sett.yml that is there; empty: there is none.
// Where no agent works alone on goals, the one that does comes along. Model is the name of
// a model at its provider, for examples that ask one and a sett.yml without models. Walled
// is as for Base, for a new sett.yml. The options say how the one that is there is read.
func Add(kind, before, model string, walled bool, as ...config.Option) (*Example, error) {
	e := &Example{Fresh: before == ""}
	source, kinds, maker := before, []string{kind}, makers[0]
	if e.Fresh {
		source = walledText(head, walled)
	}
	if AsksModel(kind) {
		maker = modelMaker
	}
	name, source, err := withModel(kind, source, model, as)
	if err != nil {
		return nil, err
	}
	begins, err := beginner(before, as)
	switch {
	case err != nil:
		return nil, err
	case slices.Contains(makers, kind) && begins != "":
		return nil, role.Fail(role.Usage, fmt.Errorf("agent %s works alone on goals already, and so would the example", begins),
			"take GoalDefined out of its bids, or try the example in a scratch repository")
	case !slices.Contains(makers, kind) && begins == "":
		kinds = []string{maker, kind}
	}
	written := map[string]bool{}
	add := func(name string) error {
		text, err := agents.Examples.ReadFile(name)
		if err == nil && !written[name] {
			written[name] = true
			e.Files = append(e.Files, File{"agents/" + name, text, modeOf(name)})
		}
		return err
	}
	for _, kind := range kinds {
		block, err := agents.Example(kind, name)
		if err != nil {
			return nil, err
		}
		if err := alreadyIn(before, kind, block, as...); err != nil {
			return nil, err
		}
		if source, err = Extend(source, block); err != nil {
			return nil, err
		}
		e.Agents = append(e.Agents, namesIn(block)...)
		for _, file := range filesOf(kind, block) {
			if err := add(file); err != nil {
				return nil, err
			}
		}
	}
	if err := fits(before, source, as...); err != nil {
		return nil, role.Fail(role.Usage, fmt.Errorf("the example does not fit into %s: %w", instance.ConfigName, err), "sett init --example %s in a scratch repository shows it", kind)
	}
	e.Files = append(e.Files, schema(), File{instance.ConfigName, []byte(source), 0o644})
	return e, nil
}

// named finds the files that an example's agents name.
var named = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`agents/(examples/[a-z]*\.?(?:sh|Dockerfile)\b)`)
})

// filesOf are the files that come with an example: the programs and images that its agents
// name, and its page, where there is one.
func filesOf(kind, block string) (files []string) {
	also := []string{"examples/" + kind + ".md"}
	for _, m := range named().FindAllStringSubmatch(block, -1) {
		files, also = append(files, m[1]), append(also, m[1]+".dockerignore")
	}
	for _, file := range also {
		if _, err := fs.Stat(agents.Examples, file); err == nil {
			files = append(files, file)
		}
	}
	return files
}

// namesIn are the agents of a block.
func namesIn(block string) (names []string) {
	for line := range strings.Lines(block) {
		if name, _, found := strings.Cut(line, ":"); found && line[0] != ' ' && line[0] != '#' {
			names = append(names, name)
		}
	}
	return names
}

// beginner is the agent of a sett.yml that may work alone on goals; empty: none does.
func beginner(source string, as []config.Option) (string, error) {
	if source == "" {
		return "", nil
	}
	c, err := config.Parse(instance.ConfigName, []byte(source), as...)
	if err != nil {
		return "", role.Fail(role.Usage, errors.New(role.CleanText(err.Error())), "mend it first")
	}
	goal := c.Flow().Types[0]
	for _, name := range slices.Concat(goal.Exclusive, goal.Scripts) {
		return name, nil
	}
	return "", nil
}

// alreadyIn refuses an example of which sett.yml has an agent.
func alreadyIn(before, kind, block string, as ...config.Option) error {
	c, err := config.Parse(instance.ConfigName, []byte(before), as...)
	if before == "" || err != nil {
		return nil //nolint:nilerr // fits says what is wrong
	}
	for _, name := range namesIn(block) {
		if _, there := c.Agent(name); there {
			return role.Fail(role.Usage, fmt.Errorf("%s has an agent %q already", instance.ConfigName, name), "rename that agent to have the example %s beside it", kind)
		}
	}
	return nil
}

// fits makes sure that an extended sett.yml has the agents of before, and is valid.
func fits(before, after string, as ...config.Option) error {
	c, err := config.Parse(instance.ConfigName, []byte(after), as...)
	if err != nil || before == "" {
		return err
	}
	old, err := config.Parse(instance.ConfigName, []byte(before), as...)
	if err != nil {
		return err
	}
	if changes := config.Diff(old, c); len(changes.Changed)+len(changes.Removed) > 0 || changes.Instance || changes.Notify {
		return errors.New("it would change other settings")
	}
	return nil
}

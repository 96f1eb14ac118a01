package deploy

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cli/instance"
	"sett/roles/cli/pin"
	"sett/roles/role"
	"sett/roles/role/store"
	"sett/roles/role/words"
	"sett/runtime"
)

// containerRoot is the repository's root in agents' containers.
const containerRoot = "/workspace"

// mostNamed is how many pinned files a line names.
const mostNamed = 5

// pinFacts are the facts about the clan's own files.
type pinFacts struct {
	taken    pin.Taken
	before   pin.Set  // of the last sett up; nil: there was none
	unpinned []string // warnings about commands that run files of the tree, which are not pinned
}

// ownCommand is a command of sett.yml.
type ownCommand struct {
	who   string // agent NAME, or notify
	key   string // of sett.yml
	words []string
}

// ownCommands lists all commands of a configuration.
func ownCommands(c *config.Config) []ownCommand {
	var all []ownCommand
	for _, a := range c.Agents {
		all = append(all, agentCommands(a)...)
	}
	return append(all, notifyCommands(c.Notify)...)
}

func agentCommands(a config.Agent) []ownCommand {
	who := "agent " + a.Name
	return []ownCommand{{who, "agents." + a.Name + ".command", a.Command}, {who, "agents." + a.Name + ".bid_script", a.BidScript}}
}

func notifyCommands(n *config.Notify) []ownCommand {
	if n == nil {
		return nil
	}
	return []ownCommand{{"notify", "notify.command", n.Command}}
}

// programs returns the words of a command that name files of the repository, and the
// paths of those.
func (o ownCommand) programs(root string) map[string]string {
	all := map[string]string{}
	for _, p := range config.ProgramFiles(o.words) {
		word := o.words[p.Index]
		if file, own := config.InRepository(word, root, p.Script); own {
			all[word] = file
		}
	}
	return all
}

// Pinning takes the clan's own files from a working tree.
type Pinning struct {
	source   pin.Source
	config   *config.Config
	seenRoot string // the tree's path, as commands see it
}

// NewPinning returns the pinning of a configuration that was read from that file.
func NewPinning(c *config.Config, root, file string) Pinning {
	p := Pinning{pin.Source{Root: root}, c, root}
	if c.Runtime == config.RuntimeDocker {
		p.seenRoot = containerRoot
	}
	if rel, err := filepath.Rel(root, file); err == nil {
		p.source.Except = filepath.ToSlash(rel)
	}
	return p
}

// wants lists the files of the set.
func (p Pinning) wants() []pin.Want { return p.wantsOf(ownCommands(p.config)) }

// wantsOf lists the files of these commands, and those of the key pin.
func (p Pinning) wantsOf(commands []ownCommand) []pin.Want {
	var all []pin.Want
	for _, o := range commands {
		for _, file := range o.programs(p.seenRoot) {
			all = append(all, pin.Want{Path: file, Program: true, By: o.key})
		}
	}
	for _, file := range p.config.Pin {
		all = append(all, pin.Want{Path: file, By: "pin"})
	}
	slices.SortStableFunc(all, func(a, b pin.Want) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// resolve notes in each agent and in the notifier the set that it uses. One that runs with
// an older set goes on with that if its files are the same there.
func (p Pinning) resolve(t pin.Taken, before *config.Config, old pin.Store) {
	c := p.config
	if before == nil {
		before = &config.Config{}
	}
	for i := range c.Agents {
		a := &c.Agents[i]
		p.use(a.Resolved, t, agentCommands(*a))
		if was, had := before.Agent(a.Name); had {
			p.stay(a.Resolved, was.Resolved, t.Set, agentCommands(*a), old)
		}
	}
	if c.Notify == nil {
		return
	}
	p.use(c.Notify.Resolved, t, notifyCommands(c.Notify))
	if before.Notify != nil {
		p.stay(c.Notify.Resolved, before.Notify.Resolved, t.Set, notifyCommands(c.Notify), old)
	}
}

// stay leaves a unit with its older set if nothing that both sets have differs, and the
// files of its own folders and of the key pin are the same.
func (p Pinning) stay(r, was *config.Resolved, now pin.Set, commands []ownCommand, old pin.Store) {
	if r == nil || was == nil || r.Pin == "" || was.Pin == "" || r.Pin == was.Pin {
		return
	}
	before := old.Set(was.Pin)
	if before == nil {
		return
	}
	own := p.source.Has(p.wantsOf(commands))
	all := speaksOfPins(commands)
	for _, c := range pin.Changes(before, now) {
		if all || c.Change == pin.Changed || own(c.Path) || c.Change == pin.Removed && beside(c.Path, p.wantsOf(commands)) {
			return
		}
	}
	r.Pin = was.Pin
}

// beside says whether a path is, or was, in a folder of these.
func beside(file string, wants []pin.Want) bool {
	return slices.ContainsFunc(wants, func(w pin.Want) bool {
		folder := w.Path
		if w.Program {
			folder = path.Dir(w.Path)
		}
		return file == w.Path || folder != "." && strings.HasPrefix(file, folder+"/")
	})
}

// speaksOfPins says whether a command itself names files by SETT_PIN.
func speaksOfPins(commands []ownCommand) bool {
	return slices.ContainsFunc(commands, func(o ownCommand) bool {
		return slices.ContainsFunc(o.words, func(w string) bool { return strings.Contains(w, env.Pin) })
	})
}

// use notes a set in the parts of an agent, if it uses the set: if a command of its own is
// from the repository or speaks of SETT_PIN, or if the clan names files to pin.
func (p Pinning) use(r *config.Resolved, t pin.Taken, commands []ownCommand) {
	if r == nil {
		return // its image is missing
	}
	r.Pin, r.Programs, r.Lacks = "", nil, ""
	uses := len(p.config.Pin) > 0 || speaksOfPins(commands)
	for _, o := range commands {
		for word, file := range o.programs(p.seenRoot) {
			if slices.ContainsFunc(t.Missing, func(w pin.Want) bool { return w.Path == file }) {
				if word == o.words[0] {
					r.Lacks = file
				}
				continue
			}
			if r.Programs == nil {
				r.Programs = map[string]string{}
			}
			r.Programs[word], uses = file, true
		}
	}
	if uses {
		r.Pin = t.Set.Digest()
	}
}

// For takes the clan's own files into a new directory, for a run of one agent. It returns
// the parts of the agent that lead there.
func (p Pinning) For(a config.Agent, into string) (*config.Resolved, error) {
	t, err := p.source.Take(p.wants(), into)
	if store.IsFull(err) {
		return nil, instance.Full(err, filepath.Dir(filepath.Dir(into))) // into is new, and gone again
	}
	if err != nil {
		return nil, role.Fail(role.Usage, err, "%s", pin.Hint(err))
	}
	r := &config.Resolved{}
	p.use(r, t, agentCommands(a))
	return r, nil
}

// unpinned warns of commands that run files of the tree which are not pinned.
func (p Pinning) unpinned() []string {
	var all []string
	for _, o := range ownCommands(p.config) {
		if found := p.source.Reads(o.words, p.seenRoot); found != "" {
			all = append(all, fmt.Sprintf("warning: %s: %s runs files of the working tree that are not pinned: an agent that changes them runs its own code there", o.who, found))
		}
	}
	return all
}

// lookAtPrograms finds the clan's own files as they are now.
func (u *upRun) lookAtPrograms() error {
	f := u.facts
	p := NewPinning(f.desired, f.root, f.file)
	t, err := p.source.Take(p.wants(), "")
	if err != nil {
		return role.Fail(role.Usage, err, "%s", pin.Hint(err))
	}
	if err := instance.ReadFile(u.in.PinnedPath(), &f.pins.before); err != nil {
		f.pins.before = nil // nothing was pinned, or by an older sett
	}
	f.pins.unpinned = p.unpinned()
	u.havePinned(p, t)
	return nil
}

// Unapplied returns the changes of the clan's own files since the last sett up, which count
// from the next one.
func Unapplied(in *instance.Instance) []pin.Change {
	c, err := in.Config()
	if err != nil {
		return nil
	}
	var pinned pin.Set
	if err := instance.ReadFile(in.PinnedPath(), &pinned); err != nil {
		return nil // the instance was started by an older sett
	}
	p := NewPinning(c, in.Workspace, in.ConfigFile)
	t, err := p.source.Take(p.wants(), "")
	if err != nil {
		return nil // sett up says it
	}
	return pin.Changes(pinned, t.Set)
}

// pinPrograms takes the clan's own files into the instance.
func (u *upRun) pinPrograms() error {
	p := NewPinning(u.facts.desired, u.facts.root, u.facts.file)
	t, err := u.in.Pins().Put(p.source, p.wants())
	if err != nil {
		return role.Fail(role.Failed, err, "%s", pin.Hint(err))
	}
	u.havePinned(p, t)
	return nil
}

func (u *upRun) havePinned(p Pinning, t pin.Taken) {
	p.resolve(t, u.facts.before, u.in.Pins())
	u.facts.pins.taken, u.pinned = t, t.Set
}

// dropPins removes the sets that nothing uses any more. The set of before stays until the
// next time: a worker may just be starting with it.
func (u *upRun) dropPins(ctx context.Context) {
	units, err := u.place.List(ctx, nil)
	if err != nil {
		return // the next sett up removes them
	}
	keep := []string{u.pinned.Digest(), u.facts.pins.before.Digest()}
	for _, a := range u.c.Agents {
		keep = append(keep, a.Resolved.Pin)
	}
	if n := u.c.Notify; n != nil {
		keep = append(keep, n.Resolved.Pin)
	}
	for _, unit := range units {
		keep = append(keep, unit.Labels[runtime.LabelPin])
	}
	if err := u.in.Pins().Keep(keep...); err != nil {
		u.at.Sayf("sett: warning: %v\n", err)
	}
}

// planPinned compares the pinned files with those of the last sett up.
func (p *Plan) planPinned(f *facts) {
	if f.pins.before != nil {
		p.Changes.Pinned = pin.Changes(f.pins.before, f.pins.taken.Set)
	}
}

// notePinned makes the notices about the clan's own files.
func (p *Plan) notePinned(f *facts) {
	if p.Action != actionApply && len(p.Changes.Pinned) > 0 {
		p.note(&p.atOnce, "pinned files since the last sett up: %s", ChangedFiles(p.Changes.Pinned))
	}
	for _, w := range f.pins.taken.Missing {
		if f.desired.Runtime != config.RuntimeDocker && firstWord(f.desired, w.Path, f.root) {
			continue // MissingTools says it
		}
		p.note(&p.atOnce, "warning: %s: %s is not in the working tree, so it is not pinned: an agent that makes it runs its own code there", w.By, w.Path)
	}
	skipped := f.pins.taken.Skipped
	for _, text := range skipped[:min(mostNamed, len(skipped))] {
		p.note(&p.atOnce, "warning: not pinned: %s", text)
	}
	if more := len(skipped) - mostNamed; more > 0 {
		p.note(&p.atOnce, "warning: not pinned: %s more", words.Count(more, "file"))
	}
	for _, text := range f.pins.unpinned {
		if !slices.Contains(f.state.Unpinned, text) {
			p.note(&p.atEnd, "%s", text)
			p.tells = true
		}
	}
}

// firstWord says whether a path is that of the program of a command itself.
func firstWord(c *config.Config, file, root string) bool {
	return slices.ContainsFunc(ownCommands(c), func(o ownCommand) bool {
		if len(o.words) == 0 {
			return false
		}
		own, ok := config.InRepository(o.words[0], root, false)
		return ok && own == file
	})
}

// ChangedFiles names changed files, each with its change, at most a few.
func ChangedFiles(all []pin.Change) string {
	var said []string
	for _, c := range all[:min(mostNamed, len(all))] {
		said = append(said, role.Clean(c.Path)+" "+c.Change)
	}
	if more := len(all) - mostNamed; more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(said, ", ")
}

// onlyPin says whether two configurations of an agent differ in the pinned files alone.
func onlyPin(was, is config.Agent) bool {
	if was.Resolved == nil || is.Resolved == nil {
		return false
	}
	resolved := *is.Resolved
	resolved.Pin, resolved.Programs = was.Resolved.Pin, was.Resolved.Programs
	is.Resolved = &resolved
	return was.Digest() == is.Digest()
}

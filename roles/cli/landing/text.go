package landing

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sett/roles/cli/commit"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
)

// mostShown is how many commits and files a plan shows.
const mostShown = 20

// Write shows the plan.
func (p *Plan) Write(on *term.Terminal) error {
	if p.How == Already {
		on.Printf("%s: %s is already there\n", role.Clean(p.Branch), words.Commit(p.Commit))
		return nil
	}
	from := "(no commit yet) "
	switch {
	case p.From != "":
		from = words.Commit(p.From)
	case p.Directory == "":
		from = "(a new branch) "
	}
	on.Printf("%s: %s..%s, %s, %s", on.Paint(role.Clean(p.Branch), term.Bold), from, words.Commit(p.To), p.How, words.Count(len(p.Commits), "commit"))
	if p.as != "" {
		on.Printf(", as %s", p.as)
	}
	on.Printf("\n")
	for i, c := range p.Commits {
		if i == mostShown {
			on.Printf("  and %d more\n", len(p.Commits)-mostShown)
			break
		}
		on.Printf("  %s %s\n", on.Paint(words.Commit(c.Hash), term.Warn), words.Shorten(role.Clean(c.Subject), 72))
	}
	if len(p.Files) > mostShown {
		on.Printf(" %s\n", commit.Sum(p.Files))
		return nil
	}
	return commit.WriteStat(on, p.Files)
}

// leftModules are the submodules that went with the landing, but for their folders.
func (p *Plan) leftModules() (left []string) {
	for _, name := range p.moved.Gone {
		if slices.ContainsFunc(p.Files, func(f commit.File) bool { return strings.HasPrefix(f.Path, name+"/") }) {
			continue // the folder is one of the result's
		}
		if info, err := os.Lstat(filepath.Join(p.Directory, filepath.FromSlash(name))); p.Directory != "" && err == nil && info.IsDir() {
			left = append(left, name)
		}
	}
	return left
}

// Done names the end of a landing, and the command that takes it back.
func (p *Plan) Done(on *term.Terminal) {
	switch {
	case p.How == Already:
		return
	case !p.Landed:
		p.tellOlder(on)
		if p.cut != nil {
			on.Sayf("sett: note: a landing of %s was cut off in %s\n", p.cut.Name, role.Clean(p.Directory))
		}
		on.Sayf("sett: nothing was changed (--dry-run)\n")
		return
	}
	on.Sayf("sett: landed on %s; to undo it: %s\n", role.Clean(p.Branch), role.Clean(p.Undo))
	p.tellOlder(on)
	if p.sign != "" {
		on.Sayf("sett: note: sett land signs no commit, and commit.gpgSign of your settings wants it; to sign what it made: %s\n", role.Clean(p.sign))
	}
	switch {
	case p.resumes():
		on.Sayf("sett: note: a landing of %s was cut off here; this one has finished it\n", p.cut.Name)
	case p.cut != nil:
		on.Sayf("sett: note: a landing of %s was cut off here; git status shows files that it may have left\n", p.cut.Name)
	}
	instance.TellLacking(on.Sayf, p.Lacking)
	if len(p.Modules) > 0 && p.Directory != "" {
		on.Sayf("sett: note: %s: %s; git -C %s submodule update --init brings the files\n",
			words.Count(len(p.Modules), "submodule has another commit now", "submodules have other commits now"), strings.Join(few(p.Modules), ", "), role.ShellWord(p.Directory))
	}
	if left := p.leftModules(); len(left) > 0 {
		on.Sayf("sett: note: %s, since git removes no folder that has files: %s\n",
			words.Count(len(left), "submodule is gone and its folder stays", "submodules are gone and their folders stay"), strings.Join(few(left), ", "))
	}
	if into := p.moved.Folders; len(into) > 0 && p.Directory != "" {
		on.Sayf("sett: note: %s now: %s; with the undo git removes files that are staged there, and a submodule that is checked out there, without asking\n",
			words.Count(len(into), "file is a folder", "files are folders"), strings.Join(few(into), ", "))
	}
	p.tellUnrun(on)
	if len(p.raw()) > 0 {
		on.Sayf("sett: note: the undo drops later changes of the files with such a filter\n")
	}
}

// tellUnrun names the filters that were not run, the files, and the command that runs them.
func (p *Plan) tellUnrun(on *term.Terminal) {
	for _, name := range slices.Sorted(maps.Keys(p.unrun)) {
		files := p.unrun[name]
		named, way := strings.Join(few(files), ", "), "the git checkout of the undo above runs it: "
		switch {
		case name == lfs:
			way = "git lfs checkout gives the files their content: "
		case len(files) <= mostNamed:
			way, named = "to run it: ", role.Clean(p.checkout(files))
		}
		on.Sayf("sett: note: the filter %s was not run, which only the repository's own configuration names; %s%s\n", strconv.Quote(role.Clean(name)), way, named)
	}
}

// lfs is the filter with a command of its own that brings the content.
const lfs = "lfs"

// raw are the files that land as the commit has them, though git checkout would have their filter change them.
func (p *Plan) raw() []string {
	var all []string
	for name, files := range p.unrun {
		if name != lfs {
			all = append(all, files...)
		}
	}
	slices.Sort(all)
	return all
}

// checkout is the command that writes files of the working tree with their filters.
func (p *Plan) checkout(files []string) string {
	command, named := p.git, ""
	for _, f := range files {
		named += " " + role.ShellWord(f)
	}
	if strings.ContainsAny(named, `*?[\:`) {
		command += " --literal-pathspecs"
	}
	return command + " checkout --" + named
}

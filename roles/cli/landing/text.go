package landing

import (
	"fmt"
	"os"
	"path/filepath"
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
	for _, name := range p.gone {
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
		on.Sayf("sett: nothing was changed (--dry-run)\n")
		return
	}
	on.Sayf("sett: landed on %s; to undo it: %s\n", role.Clean(p.Branch), role.Clean(p.Undo))
	instance.TellLacking(on.Sayf, p.Lacking)
	if len(p.Modules) > 0 && p.Directory != "" {
		on.Sayf("sett: note: %s: %s; git -C %s submodule update --init brings the files\n",
			words.Count(len(p.Modules), "submodule has another commit now", "submodules have other commits now"), strings.Join(few(p.Modules), ", "), role.ShellWord(p.Directory))
	}
	if left := p.leftModules(); len(left) > 0 {
		on.Sayf("sett: note: %s, since git removes no folder that has files: %s\n",
			words.Count(len(left), "submodule is gone and its folder stays", "submodules are gone and their folders stay"), strings.Join(few(left), ", "))
	}
	for _, name := range p.unrun {
		if name == "lfs" {
			on.Sayf("sett: note: the filter \"lfs\" was not run, which only the repository's own configuration names: git lfs checkout gives the files their content\n")
			continue
		}
		on.Sayf("sett: note: the filter %s was not run, which only the repository's own configuration names: the files are as the commit has them\n", fmt.Sprintf("%q", role.Clean(name)))
	}
}

package cli

import "sett/roles/cli/shell"

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Help is shown by `sett completion --help`.
func (completionCmd) Help() string {
	return `Prints a script that makes a shell complete what is typed after sett with the TAB key:
commands, flags and their values, instances, agents and, from the blackboard of the
instance that is meant, ids with a word about each: what waits for an answer or for
approval, what failed, goals, claims and artefacts.

bash  in ~/.bashrc:
        eval "$(sett completion bash)"
      or once, where the package bash-completion is installed:
        sett completion bash > ~/.local/share/bash-completion/completions/sett
zsh   in ~/.zshrc, after compinit:
        eval "$(sett completion zsh)"
      or once, into a folder of $fpath, as _sett:
        sett completion zsh > ~/.zfunc/_sett
fish  once:
        sett completion fish > ~/.config/fish/completions/sett.fish

A blackboard that does not answer within 0.3 seconds is done without. Nothing is
started, and nothing is said when something is wrong.

Examples:
  sett completion bash > sett.bash
  sett completion zsh > _sett
  sett completion fish > sett.fish`
}

// Run prints the script.
func (c *completionCmd) Run(a *app) error {
	a.Printf("%s", shell.Script(c.Shell))
	return nil
}

// completeCmd is the command that the scripts run. Its arguments follow a --, so that none
// of them counts as one of its own.
type completeCmd struct {
	Shell string   `arg:"" help:"Which script asks."`
	Words []string `arg:"" optional:"" help:"What was typed, the word to complete last; from bash its COMP_WORDBREAKS, its COMP_TYPE, and the line up to the cursor."`
}

// Help is shown by `sett __complete --help`.
func (completeCmd) Help() string {
	return `What the scripts of sett completion ask. The first line of the answer says what kind it is:
:values, :files or :dirs (for these two the shell looks by itself). Then comes a value a line,
with a tab and a few words about it; for bash, as bash is to insert or list it.

Example: sett __complete -- fish completion ""`
}

// Run prints the candidates and nothing else: an error must not disturb the user's
// command line, so it only makes them fewer.
func (c *completeCmd) Run(a *app) error {
	shell.Complete(a.ctx, a.at, grammarFor, c.Shell, c.Words)
	return nil
}

package config

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// A clan's own programs are pinned: sett up takes them from the repository's working
// tree, and agents run those copies. This file finds the words of a command that name
// them.

// interpreter is the command line of an interpreter, as far as it says which word is the
// script.
type interpreter struct {
	code      string   // letters of options with code, or a module, in place of a script; or that only check the file
	value     string   // letters of options with a value: the rest of the word, else the next word
	longCode  []string // the same, as whole words
	longValue []string
	sub       string // a word before the script
}

// interpreters by the name of the program, without its version.
var interpreters = sync.OnceValue(func() map[string]interpreter {
	shell := interpreter{code: "csn", value: "oO", longValue: []string{"--rcfile", "--init-file"}}
	node := interpreter{code: "epc", value: "rC", longCode: []string{"--eval", "--print", "--check"},
		longValue: []string{"--require", "--import", "--loader", "--experimental-loader", "--conditions", "--env-file"}}
	all := map[string]interpreter{
		"python":  {code: "cm", value: "WX", longValue: []string{"--check-hash-based-pycs"}},
		"ruby":    {code: "ec", value: "CEIKr"},
		"perl":    {code: "eEc", value: "IMm"},
		"php":     {code: "rRBEl", value: "cdz"},
		"lua":     {value: "el"},
		"deno":    {longCode: []string{"eval"}, longValue: []string{"--config", "--import-map", "--lock"}, value: "cL", sub: "run"},
		"bun":     {code: "ep", value: "r", longValue: []string{"--preload", "--cwd"}, sub: "run"},
		"tclsh":   {},
		"Rscript": {code: "e"},
	}
	for _, name := range []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh"} {
		all[name] = shell
	}
	for _, name := range []string{"node", "nodejs", "tsx", "ts-node"} {
		all[name] = node
	}
	all["pypy"] = all["python"]
	return all
})

// ProgramFile is a word of a command that may name a file of the clan's own.
type ProgramFile struct {
	Index  int  // in the command
	Script bool // an interpreter's: a file in any case. Otherwise a name without a slash is looked for in the PATH
}

// ProgramFiles returns the words of a command that name its programs: the first one, and
// for a known interpreter its script, which is the first word that is neither an option
// nor the value of one. env and busybox lead to the program behind them.
func ProgramFiles(command []string) []ProgramFile {
	var all []ProgramFile
	for at := 0; at < len(command); {
		all = append(all, ProgramFile{Index: at})
		name := programName(command[at])
		switch name {
		case "env":
			at = behindEnv(command, at+1)
		case "busybox":
			at++
		default:
			if i, known := interpreters()[name]; known {
				if script := i.script(command, at+1); script < len(command) {
					all = append(all, ProgramFile{Index: script, Script: true})
				}
			}
			return all
		}
	}
	return all
}

// programName is the name of a program without its directory and version.
func programName(word string) string {
	name := path.Base(word)
	return strings.TrimRight(name, "0123456789.")
}

// script returns the place of the script; the command's length: there is none.
func (i interpreter) script(words []string, at int) int {
	first := true
	for ; at < len(words); at++ {
		w := words[at]
		name, _, attached := strings.Cut(w, "=")
		switch {
		case w == "" || w == "-" || slices.Contains(i.longCode, name):
			return len(words)
		case w == "--":
			return at + 1
		case first && w == i.sub:
			first = false
		case slices.Contains(i.longValue, name):
			if !attached {
				at++
			}
		case strings.HasPrefix(w, "--"):
		case w[0] == '-' || w[0] == '+':
			code, more := i.letters(w[1:])
			if code {
				return len(words)
			}
			at += more
		default:
			return at
		}
	}
	return len(words)
}

// letters reads options of one letter that are written as one word. more is the number of
// words that belong to them besides.
func (i interpreter) letters(word string) (code bool, more int) {
	for at, letter := range word {
		switch {
		case strings.ContainsRune(i.code, letter):
			return true, 0
		case strings.ContainsRune(i.value, letter):
			if at == len(word)-1 {
				return false, 1
			}
			return false, 0
		}
	}
	return false, 0
}

// behindEnv returns the place of the program that env runs; the command's length: there
// is none.
func behindEnv(words []string, at int) int {
	for ; at < len(words); at++ {
		w := words[at]
		switch {
		case w == "-S" || strings.HasPrefix(w, "--split-string") || strings.HasPrefix(w, "-S"):
			return len(words)
		case w == "--":
			return at + 1
		case slices.Contains([]string{"-u", "--unset", "-C", "--chdir"}, w):
			at++
		case strings.HasPrefix(w, "-") || strings.Contains(w, "="):
		default:
			return at
		}
	}
	return len(words)
}

// InRepository returns the path in the repository, with slashes, of a word that may name
// a program there. Commands start at the root of the repository, which they see at that
// absolute path. Of a name without a slash only a script's lies there.
func InRepository(word, root string, script bool) (string, bool) {
	switch {
	case word == "" || strings.HasSuffix(word, "/") || !script && !strings.Contains(word, "/"):
		return "", false
	case path.IsAbs(word):
		rest, within := strings.CutPrefix(path.Clean(word), strings.TrimSuffix(path.Clean(root), "/")+"/")
		return rest, within
	}
	file := path.Clean(word)
	return file, file != "." && !outside(file)
}

// Pinned returns a command with the copies of its programs below dir in place of the
// words that name them.
func (r *Resolved) Pinned(command []string, dir string) []string {
	if r == nil || len(r.Programs) == 0 {
		return command
	}
	command = slices.Clone(command)
	for _, p := range ProgramFiles(command) {
		if file, pinned := r.Programs[command[p.Index]]; pinned {
			command[p.Index] = path.Join(dir, file)
		}
	}
	return command
}

// Unpinned returns a command with the paths in the repository of the programs that it runs as copies below dir
// (empty: it runs none).
func Unpinned(command []string, dir string) []string {
	if dir == "" {
		return command
	}
	command = slices.Clone(command)
	for _, p := range ProgramFiles(command) {
		if file, pinned := InRepository(command[p.Index], dir, false); pinned && path.IsAbs(command[p.Index]) {
			command[p.Index] = file
		}
	}
	return command
}

// PinFolder is the name of the folder of a set of pinned files: the beginning of its
// digest, since messages have the paths of programs.
func PinFolder(digest string) string { return digest[:min(len(digest), 20)] }

package pin

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sett/contract/config"
	"sett/runtime/repofile"
)

// readers are programs that run what files of the working tree say.
var readers = []string{
	"ant", "bazel", "bundle", "bunx", "cargo", "cmake", "composer", "dotnet", "gmake", "go", "gradle", "hatch", "just", "lein", "mage", "make", "mix",
	"mvn", "ninja", "nox", "npm", "npx", "pdm", "pipenv", "pnpm", "poetry", "pytest", "rake", "sbt", "task", "tox", "uv", "uvx", "yarn",
}

// lookers read the files that they are given, and run none of them.
var lookers = []string{
	"cat", "clang-format", "cmp", "codespell", "cppcheck", "diff", "egrep", "fgrep", "file", "flake8", "grep", "hadolint", "head", "jq", "md5sum", "pylint", "rg", "ruff",
	"sha1sum", "sha256sum", "sha512sum", "shellcheck", "shfmt", "stat", "tail", "wc", "yamllint",
}

// Reads names the part of a command that runs files of the working tree which are not
// pinned; empty: none is known. root is the tree as commands see it.
func (s Source) Reads(command []string, root string) string {
	programs := config.ProgramFiles(command)
	named := map[int]bool{}
	for _, p := range programs {
		named[p.Index] = true
		word := command[p.Index]
		if _, own := config.InRepository(word, root, p.Script); own {
			return "" // its arguments are data
		}
		if slices.Contains(readers, path.Base(word)) {
			return path.Base(word)
		}
	}
	if len(programs) > 0 && onlyChecks(command[programs[len(programs)-1].Index:]) {
		return ""
	}
	for i, word := range command {
		if named[i] {
			continue
		}
		if word == "-m" && strings.HasPrefix(path.Base(command[i-1]), "python") {
			return "python -m"
		}
		if found := s.inText(word, root); found != "" {
			return found
		}
	}
	return ""
}

// onlyChecks says whether a command reads its files without running them.
func onlyChecks(command []string) bool {
	if slices.Contains(lookers, path.Base(command[0])) {
		return true
	}
	if len(command) < 2 {
		return false
	}
	switch path.Base(command[0]) {
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh":
		return command[1] == "-n"
	case "node":
		return command[1] == "--check"
	case "php":
		return command[1] == "-l"
	}
	return false
}

// inText looks for programs in an argument, which may be a line for a shell.
func (s Source) inText(text, root string) string {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n\"'`;|&()<>${}=", r) }) {
		if slices.Contains(readers, word) && word != text {
			return word
		}
		file, inside := config.InRepository(word, root, false)
		if inside && s.runs(file, word != text) {
			return file
		}
	}
	return ""
}

// runs says whether a command runs that file of the tree: an executable one, and in a line
// for a shell any.
func (s Source) runs(file string, line bool) bool {
	f, err := repofile.OpenIn(s.Root, filepath.Join(s.Root, filepath.FromSlash(file)))
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	return err == nil && (line || executable(info))
}

func executable(info os.FileInfo) bool { return info.Mode()&0o111 != 0 }

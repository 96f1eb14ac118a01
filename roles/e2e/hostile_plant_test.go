package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// plant makes every tree hostile, each in the way of its agent, and in ways that they share.
// It is the tool's hand: whatever is there may have been made before.
func (h *hostileHost) plant(but ...string) {
	h.t.Helper()
	for _, name := range h.hostiles() {
		if strings.Contains(strings.Join(but, ""), name) {
			continue
		}
		dir := h.tree(name)
		if _, err := os.Stat(dir); err != nil {
			continue // its agent is gone
		}
		h.program(dir)
		switch name {
		case "config":
			h.plantConfig(filepath.Join(dir, ".git"))
		case "links":
			h.link(filepath.Join(h.repo, ".git"), filepath.Join(dir, ".git"))
			h.link("/dev/zero", filepath.Join(dir, "links.txt"))
			h.link(filepath.Join(h.repo, "sett.yml"), filepath.Join(dir, "sett.yml"))
			h.link("..", filepath.Join(dir, "up"))
			h.link(filepath.Join(h.repo, ".git", "config"), filepath.Join(dir, ".gitattributes"))
		case "gitfile":
			h.replace(filepath.Join(dir, ".git"), "gitdir: "+filepath.Join(h.root, "elsewhere")+"\n")
			h.plantConfig(filepath.Join(h.root, "elsewhere"))
		case "pipes":
			h.plantPipes(dir)
		case "nested":
			h.plantConfig(filepath.Join(dir, "sub", ".git"))
			h.plantConfig(filepath.Join(dir, "deep", "er", ".GIT"))
			h.replace(filepath.Join(dir, "other", ".git"), "gitdir: "+filepath.Join(h.root, "elsewhere")+"\n")
			h.plantConfig(filepath.Join(h.root, "elsewhere"))
		case "names":
			h.plantNames(dir)
		}
	}
}

// program makes the program that each planted setting names, and attributes that choose it.
func (h *hostileHost) program(dir string) {
	h.replaceAs(filepath.Join(dir, "evil.sh"), "#!/bin/sh\ntouch '"+h.canaries+"'/${1:-evil}\ncat\n", 0o755)
	h.replace(filepath.Join(dir, ".gitattributes"), "* filter=evil diff=evil merge=evil text=auto\n")
}

// plantConfig makes a repository in which every command of git runs something.
func (h *hostileHost) plantConfig(git string) {
	h.t.Helper()
	run := func(what string) string { return fmt.Sprintf("\"touch '%s/%s'; cat #\"", h.canaries, what) }
	var b strings.Builder
	b.WriteString("[core]\n\trepositoryFormatVersion = 1\n\tbare = false\n")
	for _, key := range []string{"fsmonitor", "pager", "sshCommand", "editor", "askPass", "gitProxy", "alternateRefsCommand"} {
		fmt.Fprintf(&b, "\t%s = %s\n", key, run("core."+key))
	}
	fmt.Fprintf(&b, "\thooksPath = %q\n\tattributesFile = %q\n\texcludesFile = %q\n\tworktree = %q\n", filepath.Join(git, "evil-hooks"), filepath.Join(git, "attributes"), filepath.Join(git, "fifo"), h.repo)
	for _, section := range []string{"filter", "diff", "merge"} {
		fmt.Fprintf(&b, "[%s \"evil\"]\n", section)
		for _, key := range []string{"clean", "smudge", "process", "textconv", "command", "driver"} {
			fmt.Fprintf(&b, "\t%s = %s\n", key, run(section+"."+key))
		}
	}
	fmt.Fprintf(&b, "[diff]\n\texternal = %s\n[gpg]\n\tprogram = %s\n[credential]\n\thelper = %s\n[uploadpack]\n\tpackObjectsHook = %s\n[commit]\n\tgpgSign = true\n",
		run("diff.external"), run("gpg.program"), run("credential.helper"), run("uploadpack.packObjectsHook"))
	for _, alias := range []string{"status", "log", "show", "st"} {
		fmt.Fprintf(&b, "[alias]\n\t%s = %s\n", alias, strings.Replace(run("alias"), `"`, `"!`, 1))
	}
	fmt.Fprintf(&b, "[extensions]\n\tpartialClone = origin\n[protocol \"ext\"]\n\tallow = always\n[remote \"origin\"]\n\turl = %s\n\tpromisor = true\n\tpartialCloneFilter = blob:none\n\tuploadpack = %s\n",
		strings.Replace(run("remote"), `"touch`, `"ext::touch`, 1), run("remote.uploadpack"))
	fmt.Fprintf(&b, "[include]\n\tpath = %q\n\tpath = %q\n", filepath.Join(git, "included"), filepath.Join(h.repo, ".git", "config"))
	h.replace(filepath.Join(git, "config"), b.String())
	h.replace(filepath.Join(git, "included"), "[core]\n\tfsmonitor = "+run("included")+"\n")
	h.replace(filepath.Join(git, "attributes"), "* filter=evil\n")
	h.replace(filepath.Join(git, "info", "attributes"), "* filter=evil diff=evil merge=evil\n")
	for _, hook := range []string{"post-checkout", "pre-commit", "post-commit", "reference-transaction", "post-index-change", "fsmonitor-watchman", "pre-auto-gc", "post-update", "post-merge", "proc-receive"} {
		for _, dir := range []string{"hooks", "evil-hooks"} {
			path := filepath.Join(git, dir, hook)
			h.replaceAs(path, "#!/bin/sh\ntouch '"+h.canaries+"/"+hook+"'\n", 0o755)
		}
	}
	if _, err := os.Stat(filepath.Join(git, "HEAD")); err != nil {
		h.replace(filepath.Join(git, "HEAD"), "ref: refs/heads/main\n")
	}
	h.replace(filepath.Join(git, "objects", "info", "alternates"), filepath.Join(h.repo, ".git", "objects")+"\n/dev/zero\n")
	h.replace(filepath.Join(git, "objects", "info", "http-alternates"), "http://127.0.0.1:1/\n")
	h.replace(filepath.Join(git, "refs", "heads", "evil"), strings.Repeat("0", 39)+"1\n")
	h.replace(filepath.Join(git, "shallow"), strings.Repeat("1", 40)+"\n")
}

// plantPipes has whoever reads a file of the tree, or of its repository, wait for ever.
func (h *hostileHost) plantPipes(dir string) {
	h.t.Helper()
	for _, name := range []string{".gitignore", "pipes.txt", ".gitmodules", ".mailmap", "sett.yml", "tools/closer", ".git/HEAD", ".git/config", ".git/index", ".git/packed-refs",
		".git/shallow", ".git/objects/info/alternates", ".git/refs/heads/main", ".git/objects/aa/" + strings.Repeat("b", 38)} {
		h.pipe(filepath.Join(dir, name))
	}
	h.clear(filepath.Join(dir, "socket"))
	// A long path is no socket's: it is bound from within the directory.
	short := filepath.Join(os.TempDir(), filepath.Base(h.root)+h.name)
	if err := os.Symlink(dir, short); err != nil {
		h.t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(short, "socket"))
	if err != nil {
		h.t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	_, _ = l.Close(), os.Remove(short)
	if os.Getuid() == 0 { // where the kernel allows it
		h.clear(filepath.Join(dir, "zero"))
		_ = syscall.Mknod(filepath.Join(dir, "zero"), syscall.S_IFCHR|0o666, 1<<8|5)
	}
	closed := filepath.Join(dir, "closed", "in")
	_, _ = os.Chmod(filepath.Dir(closed), 0o755), os.Chmod(closed, 0o755) // it may be there: only root gets in
	if err := os.MkdirAll(closed, 0o755); err != nil {
		h.t.Fatal(err)
	}
	h.replace(filepath.Join(closed, "file"), "x")
	_, _ = os.Chmod(closed, 0o000), os.Chmod(filepath.Dir(closed), 0o555)
}

// plantNames makes files whose names clear the screen, are an option, or are git's own.
func (h *hostileHost) plantNames(dir string) {
	h.t.Helper()
	for _, name := range []string{"\x1b[2Jclear", "new\nline", "--upload-pack=touch", "-rf", "\u202egnp.exe", "\xff\xfe", "\x1b]0;title\x07", "a\\b", ":(glob)**", "\u009b31m"} {
		h.replace(filepath.Join(dir, name), "x\n")
	}
	h.replace(filepath.Join(dir, ".git", "index.lock"), "")
	h.replace(filepath.Join(dir, ".git", "HEAD.lock"), "")
	h.replace(filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/../../../../../"+filepath.Join(h.repo, ".git", "HEAD")+"\n")
}

// replace writes a file, whatever was there. The role may empty the tree meanwhile: then it is
// written once more.
func (h *hostileHost) replace(path, text string) {
	h.t.Helper()
	h.replaceAs(path, text, 0o644)
}

// replaceAs is replace of a file that has its mode from its beginning: between two calls the role may
// empty the tree.
func (h *hostileHost) replaceAs(path, text string, mode fs.FileMode) {
	h.t.Helper()
	var err error
	for range 50 {
		h.clear(path)
		if err = os.WriteFile(path, []byte(text), mode); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *hostileHost) link(to, path string) {
	h.t.Helper()
	h.clear(path)
	if err := os.Symlink(to, path); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hostileHost) pipe(path string) {
	h.t.Helper()
	h.clear(path)
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// clear removes a file or a link, and sees to its directory.
func (h *hostileHost) clear(path string) {
	h.t.Helper()
	var err error
	for range 50 {
		if err = os.RemoveAll(path); err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if !errors.Is(err, fs.ErrNotExist) { // else the role empties the tree meanwhile
			break
		}
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// plantByShell is a part of a tool that makes its tree hostile by itself, for sett try. The
// tool has its commit's hash then.
func (h *hostileHost) plantByShell() string {
	return `
echo tried >tried.txt; git add -A; git commit -q --allow-empty -m "$(printf 'tried\033[2J')"; hash=$(git rev-parse HEAD)
echo more >>tried.txt; echo '* filter=evil' >.gitattributes; : >"$(printf 'left\033[2J')"
for f in clean smudge process; do git config filter.evil.$f "touch '` + h.canaries + `'/try-$f; cat #"; done
git config core.fsmonitor "touch '` + h.canaries + `'/try-fsmonitor; false #"
git config core.hooksPath "$PWD/.git/hooks"
printf '#!/bin/sh\ntouch "` + h.canaries + `"/try-hook\n' >.git/hooks/post-index-change; chmod 755 .git/hooks/post-index-change
mkfifo waits; mkdir -p deep; mkfifo deep/.gitignore
git init -q nested; git -C nested config core.fsmonitor "touch '` + h.canaries + `'/try-nested; false #"
`
}

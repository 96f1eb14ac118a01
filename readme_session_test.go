package main_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sett/roles/role/persontest"
)

// session is a terminal of the reader's: what is exported in it, and where it is,
// counts for all that is typed after.
type session struct {
	top, dir string
	suffix   string // of the names of the reader's repositories here, and so of instances
	place    place
	env      []string
	ids      map[string]string // what is here what the README calls so
	mine     persontest.Repository
}

// place is where the agents run.
type place struct {
	containers bool
	prelude    string            // more of it
	edit       *strings.Replacer // of what is typed
	env        []string
	patience   time.Duration // with one command
}

// localMode does without an engine: `sett up` is told so each time.
var localMode = place{
	prelude: `sett() {
	case $1 in
	up) shift && command sett up --runtime process "$@" ;;
	*) command sett "$@" ;;
	esac
}
`,
	edit:     strings.NewReplacer(),
	patience: 5 * time.Minute, // for make build, on a busy machine
}

// version is what the sett under test calls itself, and its image.
var version = "readme-" + strings.ToLower(rand.Text()[:8])

// buildSett builds the sett of this test into a folder, which it returns. It does
// as make does, whose work it spares: what was compiled once is kept.
func buildSett(t *testing.T) (bin string) {
	t.Helper()
	bin, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+version, "-o", filepath.Join(bin, "sett"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build sett: %v\n%s", err, out)
	}
	return bin
}

// newSession returns a terminal as it is before the README is read: there is no
// sett, but a place to clone it from, and a repository of the reader's.
func newSession(t *testing.T, at place) *session {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(top, "home")
	s := &session{top: top, dir: home, place: at, ids: map[string]string{},
		suffix: "-" + strings.ToLower(rand.Text()[:8])} // an engine may have one that is somebody's
	mine := filepath.Join(home, project+s.suffix)
	for _, dir := range []string{home, mine, filepath.Join(top, "tmp")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, ".local", "state"),
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "TMPDIR=" + filepath.Join(top, "tmp"), "LANG=C.UTF-8",
		"GIT_CONFIG_NOSYSTEM=1", "SETT_USER=ann", "VERSION=" + version, // make says so of what it builds
	}, at.env...)
	s.env = append(s.env, goEnvironment(t)...)
	origin := filepath.Join(top, "origin")
	config := fmt.Sprintf("[user]\n\tname = Reader\n\temail = reader@example.org\n[url %q]\n\tinsteadOf = %s\n", origin, address)
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.end(t) })
	s.must(t, "cd "+filepath.Base(mine)+" && git init --quiet && echo mine >README.md && git add -A && git commit --quiet -m begin && cd")
	s.publish(t, origin)
	return s
}

// address is what the README calls the place that Sett is cloned from.
const address = "https://git.example.org/sett"

// publish makes a repository of the checkout as it is, with what is not committed yet.
func (s *session) publish(t *testing.T, origin string) {
	t.Helper()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	s.must(t, fmt.Sprintf("export GIT_DIR='%s' GIT_WORK_TREE='%s' && git init --quiet && cd '%s' && git add -A && "+
		"git commit --quiet -m 'Sett as it is here' && unset GIT_DIR GIT_WORK_TREE && cd", origin, wd, wd))
}

// goEnvironment is where Go keeps what it has compiled and fetched, which another
// home shall not make it do again.
func goEnvironment(t *testing.T) []string {
	t.Helper()
	names := []string{"GOENV", "GOCACHE", "GOMODCACHE", "GOPATH"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var vars []string
	for i, value := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
		vars = append(vars, names[i]+"="+value)
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "GO") && !slices.Contains(names, name) {
			vars = append(vars, v)
		}
	}
	return vars
}

// project is what the README calls the reader's repository.
const project = "my-project"

// own finds the reader's repositories in what is typed.
var own = regexp.MustCompile(`~/(my-project|[a-z]+-clan)\b`)

// name is what the repository is called that the reader is in, and so the instance.
func (s *session) name() string { return filepath.Base(s.dir) }

// state is the directory that has a directory for each instance.
func (s *session) state() string { return filepath.Join(s.top, "home", ".local", "state", "sett") }

// binary is the sett that the README has the reader build.
func (s *session) binary() string { return filepath.Join(s.top, "home", "sett", "bin", "sett") }

// end ends all instances as the README says, and whatever should be left then.
func (s *session) end(t *testing.T) {
	kept, _ := filepath.Glob(filepath.Join(s.state(), "[^.]*")) // an instance each
	for _, dir := range kept {
		down := fmt.Sprintf("PATH='%s':$PATH; sett down --purge --yes --name %s", filepath.Dir(s.binary()), filepath.Base(dir))
		if out, err := s.run(down); err != nil { // wherever the reader's commands stopped
			t.Errorf("sett down: %v\n%s", err, out)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("sett down --purge left %s", dir)
		}
	}
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		var pid int
		if exe, _ := os.Readlink(link); exe != s.binary() {
			continue
		}
		if _, err := fmt.Sscanf(link, "/proc/%d/exe", &pid); err == nil {
			t.Errorf("process %d was left behind", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// prelude goes on where the terminal was, and sees to it that the next command does.
// It stands in for make, which would test all over again: it knows the targets, and
// builds in the reader's clone.
const prelude = `
[ ! -f "$TOP/exported" ] || . "$TOP/exported"
trap 'export -p >"$TOP/exporting" && mv "$TOP/exporting" "$TOP/exported"; pwd >"$TOP/there"' EXIT
make() {
	case ${1-} in
	build | demo) command make "$@" ;;
	*) [ $# = 0 ] || grep -q "^$1:" "$HOME/sett/Makefile" || { echo "make: no target $1"; return 2; } ;;
	esac
}
`

var endlessly = regexp.MustCompile(`^sett (watch|logs .*(-f|--follow))\b`)

// endless says whether only Ctrl-C ends a command.
func endless(command string) bool {
	return endlessly.MatchString(command) && !strings.Contains(command, "--exit-when-done")
}

// run runs what is typed at a prompt and returns all it said. Nothing but the reader's own commands
// changes the repository that the reader is in, whatever runs meanwhile.
func (s *session) run(command string) (string, error) {
	before := s.leftAlone("before " + command)
	said, err := s.typed(command)
	words := strings.Fields(command)
	if setts := len(words) > 0 && words[0] == "sett" && !strings.Contains(command, "&&") && !strings.Contains(command, ";"); setts && !persontest.Writes(words[1:]) {
		return said, errors.Join(err, before, s.leftAlone(command))
	}
	return said, errors.Join(err, before, s.look())
}

// look takes the reader's repository as it is for the reader's own. Their clone of Sett is none: it is built there.
func (s *session) look() (err error) {
	s.mine = persontest.Repository{}
	if s.dir != filepath.Join(s.top, "home", "sett") {
		s.mine, err = persontest.Around(s.dir)
	}
	return err
}

// leftAlone is an error if the repository is not as the reader left it.
func (s *session) leftAlone(when string) error {
	changes, err := s.mine.Changes(func(string) bool { return false })
	if len(changes) > 0 {
		err = errors.Join(err, fmt.Errorf("%s: %s", when, strings.Join(changes, "\n")))
	}
	return err
}

// typed is run, without a look at the repository.
func (s *session) typed(command string) (string, error) {
	out, err := os.CreateTemp(s.top, "out-*") // no pipe: what stays in the background could hold it open
	if err != nil {
		return "", err
	}
	defer out.Close()
	ctx, cancel := context.WithTimeout(context.Background(), s.place.patience)
	defer cancel()
	script := prelude + s.place.prelude + s.place.edit.Replace(command)
	if endless(command) {
		script = prelude + "exec " + command
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.dir, slices.Concat(s.env, []string{"TOP=" + s.top}), out, out
	if err = cmd.Start(); err == nil && endless(command) {
		err = interrupt(ctx, cmd, out.Name())
	}
	if err == nil {
		err = cmd.Wait()
	}
	if there, none := os.ReadFile(filepath.Join(s.top, "there")); none == nil {
		s.dir = strings.TrimSpace(string(there))
	}
	said, _ := os.ReadFile(out.Name())
	return string(said), errors.Join(err, context.Cause(ctx))
}

// interrupt presses Ctrl-C once the command has said something.
func interrupt(ctx context.Context, cmd *exec.Cmd, out string) error {
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for {
		if info, err := os.Stat(out); err != nil || info.Size() > 0 {
			return cmd.Process.Signal(os.Interrupt)
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return errors.Join(errors.New("it says nothing"), cmd.Wait())
		}
	}
}

func (s *session) must(t *testing.T, command string) string {
	t.Helper()
	out, err := s.run(command)
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return out
}

var shortID = regexp.MustCompile(`\b[0-9A-HJKMNP-TV-Z]{8}\b`)

// learn takes the ids of a line for those that the README shows in it.
func (s *session) learn(shown, said string) {
	is := shortID.FindAllString(said, -1)
	for i, id := range shortID.FindAllString(shown, -1) {
		if i < len(is) {
			s.ids[id] = is[i]
		}
	}
}

// translate puts the ids and the repositories that there are into a command.
func (s *session) translate(typed string) string {
	typed = own.ReplaceAllString(typed, "${0}"+s.suffix)
	return shortID.ReplaceAllStringFunc(typed, func(id string) string {
		if is, ok := s.ids[id]; ok {
			return is
		}
		return id
	})
}

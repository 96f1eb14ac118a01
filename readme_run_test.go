package main_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// session is a terminal in a repository of the reader's own.
type session struct {
	top, dir, bin string
	place         place
	env           []string
	ids           map[string]string // what is here what the README calls so
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
	patience: 30 * time.Second,
}

// version is what the sett under test calls itself, and its image.
var version = "readme-" + strings.ToLower(rand.Text()[:8])

// buildSett builds the sett of this test into a folder, which it returns.
func buildSett(t *testing.T) (bin string) {
	t.Helper()
	bin, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-ldflags", "-s -w -X main.version="+version, "-o", filepath.Join(bin, "sett"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build sett: %v\n%s", err, out)
	}
	return bin
}

func newSession(t *testing.T, bin string, at place) *session {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(top, "home")
	name := project + "-" + strings.ToLower(rand.Text()[:8]) // an engine may have one that is somebody's
	s := &session{top: top, dir: filepath.Join(home, name), bin: bin, place: at, ids: map[string]string{}}
	for _, dir := range []string{home, s.dir, filepath.Join(top, "tmp")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.env = append([]string{
		"PATH=" + s.bin + ":" + os.Getenv("PATH"), "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, ".local", "state"),
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "TMPDIR=" + filepath.Join(top, "tmp"), "LANG=C.UTF-8",
		"GIT_CONFIG_NOSYSTEM=1", "SETT_USER=ann",
	}, at.env...)
	identity := "[user]\n\tname = Reader\n\temail = reader@example.org\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(identity), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.end(t) })
	s.must(t, "git init --quiet && echo mine >README.md && git add -A && git commit --quiet -m begin")
	return s
}

// project is what the README calls the reader's repository.
const project = "my-project"

// name is what it is called here, and so the instance.
func (s *session) name() string { return filepath.Base(s.dir) }

// state is the directory that has a directory for each instance.
func (s *session) state() string { return filepath.Join(s.top, "home", ".local", "state", "sett") }

// end ends all instances as the README says, and whatever should be left then.
func (s *session) end(t *testing.T) {
	kept, _ := filepath.Glob(filepath.Join(s.state(), "*"))
	for _, dir := range kept {
		if out, err := s.run("sett down --purge --yes --name " + filepath.Base(dir)); err != nil {
			t.Errorf("sett down: %v\n%s", err, out)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("sett down --purge left %s", dir)
		}
	}
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		var pid int
		if exe, _ := os.Readlink(link); exe != filepath.Join(s.bin, "sett") {
			continue
		}
		if _, err := fmt.Sscanf(link, "/proc/%d/exe", &pid); err == nil {
			t.Errorf("process %d was left behind", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// prelude stands in for make, which would build and test all over again: it knows
// the targets, and runs the demo.
const prelude = `make() {
	[ $# = 0 ] || grep -q "^$1:" '%s/Makefile' || { echo "make: no target $1"; return 2; }
	[ "${1-}" != demo ] || sett demo --down
}
`

var endlessly = regexp.MustCompile(`^sett (watch|logs .*(-f|--follow))\b`)

// endless says whether only Ctrl-C ends a command.
func endless(command string) bool {
	return endlessly.MatchString(command) && !strings.Contains(command, "--exit-when-done")
}

// run runs what is typed at a prompt and returns all it said.
func (s *session) run(command string) (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	out, err := os.CreateTemp(s.top, "out-*") // no pipe: what stays in the background could hold it open
	if err != nil {
		return "", err
	}
	defer out.Close()
	ctx, cancel := context.WithTimeout(context.Background(), s.place.patience)
	defer cancel()
	script := fmt.Sprintf(prelude, wd) + s.place.prelude + s.place.edit.Replace(command)
	if endless(command) {
		script = "exec " + command
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.dir, s.env, out, out
	if err = cmd.Start(); err == nil && endless(command) {
		err = interrupt(ctx, cmd, out.Name())
	}
	if err == nil {
		err = cmd.Wait()
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

// runCommands runs every command in order, and compares what the README shows of
// its output.
func (p *page) runCommands(t *testing.T, s *session) {
	for _, b := range p.of(t, "sh", "console", "dockerfile") {
		if b.about == "docker" && !s.place.containers {
			continue
		}
		if b.lang == "dockerfile" {
			s.build(t, b)
			continue
		}
		var out string
		var said map[string]string // by what of it is the same in each run
		lines := strings.Split(strings.TrimSuffix(b.text, "\n"), "\n")
		for i := 0; i < len(lines); i++ {
			at := b.line + i
			typed, prompt := strings.CutPrefix(lines[i], "$ ")
			line, known := said[plain(lines[i])]
			isCommand := b.lang == "sh" || prompt && !known // the demo shows its own commands
			switch {
			case !isCommand:
				if p := plain(lines[i]); p != "…" && p != "" && !known {
					t.Errorf("README.md:%d: not in the output: %s\n%s", at, lines[i], out)
				}
				s.learn(lines[i], line)
				continue
			case strings.TrimSpace(typed) == "" || strings.HasPrefix(typed, "#"):
				continue
			}
			if _, mark, here := strings.Cut(typed, "<<'"); here {
				mark = strings.TrimSuffix(mark, "'")
				for more := true; more && i+1 < len(lines); more = lines[i] != mark {
					i++
					typed += "\n" + lines[i]
				}
			}
			var err error
			if out, err = s.run(s.translate(typed)); err != nil {
				t.Fatalf("README.md:%d: %s: %v\n%s", at, typed, err, out)
			}
			said = map[string]string{}
			for line := range strings.Lines(out) {
				said[plain(strings.ReplaceAll(line, s.name(), project))] = line
			}
		}
	}
	p.checkHealth(t, s)
	for _, name := range codes(p.section(t, "Where things are")) {
		if strings.HasPrefix(name, "$") || strings.HasPrefix(name, "~") || !strings.HasSuffix(name, ".json") && !strings.HasSuffix(name, "/") {
			continue
		}
		if s.place.containers && name == "blackboard/" {
			continue // a volume
		}
		if _, err := os.Stat(filepath.Join(s.state(), s.name(), name)); err != nil {
			t.Errorf("README.md names %s: %v", name, err)
		}
	}
	if s.place.containers {
		p.checkNames(t, s.name())
	}
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

// translate puts the ids that there are into a command.
func (s *session) translate(typed string) string {
	return shortID.ReplaceAllStringFunc(typed, func(id string) string {
		if is, ok := s.ids[id]; ok {
			return is
		}
		return id
	})
}

// What differs from run to run.
var (
	varying = []struct {
		what *regexp.Regexp
		name string
	}{
		{regexp.MustCompile(`\b\d\d:\d\d:\d\d\.\d{3}\b`), "TIME"},
		{regexp.MustCompile(`\b\d+(\.\d+)?(µs|ms|s)\b`), "SPAN"},
		{regexp.MustCompile(`\b127\.0\.0\.1:\d+\b`), "ADDR"},
		{regexp.MustCompile(`\b([0-9A-HJKMNP-TV-Z]{26}|[0-9A-HJKMNP-TV-Z]{8})\b`), "ID"},
		{regexp.MustCompile(`\b[0-9a-f]{7,40}\b`), "HASH"},
		{regexp.MustCompile(`\s+`), " "},
	}
	pair = regexp.MustCompile(`by (\w+), (\w+)$`)
)

// plain is a line without what differs from run to run.
func plain(line string) string {
	for _, v := range varying {
		line = v.what.ReplaceAllString(line, v.name)
	}
	line = strings.TrimSpace(line)
	if m := pair.FindStringSubmatch(line); m != nil && m[1] > m[2] { // who bids first comes first
		line = pair.ReplaceAllString(line, "by $2, $1")
	}
	return line
}

// checkHealth asks for all that the README says is served, at the address that
// `sett list` names.
func (p *page) checkHealth(t *testing.T, s *session) {
	t.Helper()
	said := s.must(t, "sett list -o json")
	m := regexp.MustCompile(`"(http://127\.0\.0\.1:\d+)/healthz"`).FindStringSubmatch(said)
	if m == nil {
		t.Fatalf("no address in %s", said)
	}
	asked := 0
	for _, row := range rows(p.section(t, "Operations")) {
		for _, path := range codes(row[0]) {
			resp, err := http.Get(m[1] + strings.ReplaceAll(path, "AGENT", "note"))
			if err != nil {
				t.Error(err)
				continue
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			want := map[string]string{"healthz": "ok\n", "metrics": "\nsett_"}[path[strings.LastIndexByte(path, '/')+1:]]
			if err != nil || resp.StatusCode != http.StatusOK || len(body) == 0 || !strings.Contains(string(body), want) {
				t.Errorf("%s of %s: %s, %v", path, m[1], resp.Status, err)
			}
			asked++
		}
	}
	if asked < 6 {
		t.Errorf("README.md names %d things that are served", asked)
	}
}

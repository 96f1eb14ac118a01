package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// folder writes files; a name with a slash at the end is a directory.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// sent are the files of a context that the engine gets, by name, but for the two files that
// are there for the engine.
func sent(t testing.TB, b Build) (map[string]*tar.Header, map[string]string) {
	t.Helper()
	s, err := readSources(b)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.write(t.Context(), &out, s.dockerfile, sha256.New()); err != nil {
		t.Fatal(err)
	}
	headers, texts := map[string]*tar.Header{}, map[string]string{}
	r := tar.NewReader(&out)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if headers[h.Name] != nil {
			t.Errorf("%s is there twice", h.Name)
		}
		headers[h.Name], texts[h.Name] = h, string(text)
	}
	return headers, texts
}

var contexts = []struct {
	name, ignore string
	want         string // names, sorted
}{
	{"nothing ignored", "", "Dockerfile a/ a/b a/c.tmp a/deep/ a/deep/d.tmp e.md f"},
	{"comment and blank", "# a\n\n", "Dockerfile a/ a/b a/c.tmp a/deep/ a/deep/d.tmp e.md f"},
	{"a folder", "a", "Dockerfile e.md f"},
	{"but for one in it", "a\n!a/b", "Dockerfile a/b e.md f"},
	{"all but", "*\n!f", "f"},
	{"at the root only", "*.tmp", "Dockerfile a/ a/b a/c.tmp a/deep/ a/deep/d.tmp e.md f"},
	{"everywhere", "**/*.tmp", "Dockerfile a/ a/b a/deep/ e.md f"},
	{"everywhere but", "**/*.tmp\n!**/d.tmp", "Dockerfile a/ a/b a/deep/ a/deep/d.tmp e.md f"},
	{"last wins", "!f\nf", "Dockerfile a/ a/b a/c.tmp a/deep/ a/deep/d.tmp e.md"},
	{"slashes", "/a/\n./f", "Dockerfile e.md"},
	{"the Dockerfile", "Dockerfile\n.dockerignore", "a/ a/b a/c.tmp a/deep/ a/deep/d.tmp e.md f"},
}

func TestContext(t *testing.T) {
	for _, tt := range contexts {
		t.Run(tt.name, func(t *testing.T) {
			dir := folder(t, map[string]string{"Dockerfile": "FROM x\n", ignoreName: tt.ignore, "a/b": "b", "a/c.tmp": "", "a/deep/d.tmp": "", "e.md": "", "f": "F"})
			headers, texts := sent(t, Build{Context: dir})
			if texts[sentDockerfile] != "FROM x\n" || !strings.HasPrefix(texts[ignoreName], tt.ignore) || !strings.HasSuffix(texts[ignoreName], "\n"+sentDockerfile+"\n") {
				t.Errorf("the engine gets %q and %q", texts[sentDockerfile], texts[ignoreName])
			}
			delete(headers, sentDockerfile)
			delete(headers, ignoreName)
			if got := strings.Join(slices.Sorted(maps.Keys(headers)), " "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestContextFiles(t *testing.T) {
	dir := folder(t, map[string]string{"ctx/run.sh": "#!", "ctx/long/" + strings.Repeat("n", 120): "x", "other/File": "FROM y\n", "other/File.dockerignore": "long\n"})
	ctx := filepath.Join(dir, "ctx")
	if err := os.Chmod(filepath.Join(ctx, "run.sh"), 0o4750|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../outside", filepath.Join(ctx, "link")); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(ctx, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Symlink(ctx, filepath.Join(dir, "way")); err != nil {
		t.Fatal(err)
	}
	headers, texts := sent(t, Build{Context: filepath.Join(dir, "way"), Dockerfile: "../other/File"})
	if texts[sentDockerfile] != "FROM y\n" {
		t.Errorf("the Dockerfile is %q", texts[sentDockerfile])
	}
	want := []string{ignoreName, sentDockerfile, "link", "run.sh"} // the Dockerfile's own patterns count
	if got := slices.Sorted(maps.Keys(headers)); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if h := headers["run.sh"]; h.Mode != 0o4750 || h.Uid != 0 || h.Gid != 0 || h.Uname != "" {
		t.Errorf("%+v", h)
	}
	if h := headers["link"]; h.Typeflag != tar.TypeSymlink || h.Linkname != "../outside" {
		t.Errorf("%+v", h)
	}
}

func TestContextErrors(t *testing.T) {
	dir := folder(t, map[string]string{"file": "", "bad/Dockerfile": "FROM x\n", "bad/.dockerignore": "[", "none/": "", "blank/Dockerfile": "# later\n\n"})
	for _, tt := range []struct {
		b    Build
		want string
	}{
		{Build{Context: filepath.Join(dir, "gone")}, "gone: no such file"},
		{Build{Context: filepath.Join(dir, "file")}, "not a directory"},
		{Build{Context: filepath.Join(dir, "none")}, "no such Dockerfile: " + dir + "/none/Dockerfile"},
		{Build{Context: filepath.Join(dir, "none"), Dockerfile: "/not/there"}, "no such Dockerfile: /not/there"},
		{Build{Context: dir, Dockerfile: "none"}, "not a regular file but a directory"},
		{Build{Context: filepath.Join(dir, "bad")}, ".dockerignore: "},
		{Build{Context: filepath.Join(dir, "blank")}, "the Dockerfile " + dir + "/blank/Dockerfile is empty"},
	} {
		if _, err := readSources(tt.b); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %s", tt.b, err, tt.want)
		}
	}
}

// Whatever the patterns are: no panic, and what is sent is what no pattern leaves
// out, whether folders are skipped as a whole or gone through.
func FuzzIgnore(f *testing.F) {
	for _, tt := range contexts {
		f.Add(tt.ignore)
	}
	dir := folder(f, map[string]string{"Dockerfile": "FROM x\n", "a/b": "", "a/c.tmp": "", "a/deep/d.tmp": "", "f": ""})
	f.Fuzz(func(t *testing.T, ignore string) {
		s := sources{root: dir, most: mostContext, ignore: []byte(ignore)}
		if s.readPatterns("x") != nil {
			return
		}
		var out bytes.Buffer
		if err := s.write(t.Context(), &out, nil, sha256.New()); err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for r := tar.NewReader(&out); ; {
			h, err := r.Next()
			if err != nil {
				break
			}
			got[h.Name] = true
		}
		for _, name := range []string{"Dockerfile", "a/b", "a/c.tmp", "a/deep/d.tmp", "f"} {
			ignored, err := s.patterns.MatchesOrParentMatches(name)
			if err == nil && got[name] == ignored {
				t.Errorf("%q: %s ignored %v, sent %v", ignore, name, ignored, got[name])
			}
		}
	})
}

// Links of a repository lead no build to a file outside of it, and nothing in it is
// waited for.
func TestContextOfAStranger(t *testing.T) {
	top := folder(t, map[string]string{
		"secret": "root:x:0\n", "away/Dockerfile": "FROM x\n", "shared/Dockerfile": "FROM x\n", "repo/in/Dockerfile": "FROM x\n", "repo/docker/File": "FROM x\n",
		"repo/agent/": "", "repo/linked/": "", "repo/pipe/": "", "repo/ignore/Dockerfile": "FROM x\n", "repo/loop/": "",
	})
	root := filepath.Join(top, "repo")
	for name, to := range map[string]string{
		"agent/Dockerfile": "../docker/File", "linked/Dockerfile": "../../secret", "context": "../away", "ignore/.dockerignore": "/dev/zero", "loop/Dockerfile": "Dockerfile",
	} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(root, "pipe/Dockerfile"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ context, dockerfile, want string }{
		{"in", "", ""}, {"agent", "", ""}, {"agent", "../docker/File", ""}, {"../shared", "", ""}, {"in", "../../shared/Dockerfile", ""},
		{"linked", "", "linked/Dockerfile: a link leads out of its repository"}, {"context", "", "context: a link leads out of its repository"},
		{"in", "../context/Dockerfile", "a link leads out of its repository"}, {"pipe", "", "not a regular file but a named pipe"},
		{"ignore", "", "ignore/.dockerignore: a link leads out of its repository"}, {"loop", "", "too many levels of symbolic links"},
		{"in", "/dev/zero", "not a regular file but a device"},
	} {
		_, err := readSources(Build{Root: root, Context: filepath.Join(root, tt.context), Dockerfile: tt.dockerfile})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if tt.want == "" && got != "" || !strings.HasSuffix(got, tt.want) {
			t.Errorf("%s %s: %s, want %s", tt.context, tt.dockerfile, got, tt.want)
		}
	}
}

// A context has a bound, which a sparse file counts against as a whole; loops of links,
// pipes and sockets in it are no matter.
func TestContextBound(t *testing.T) {
	dir := folder(t, map[string]string{"Dockerfile": "FROM x\n", "a": "1"})
	if err := errors.Join(os.Symlink("loop", filepath.Join(dir, "loop")), os.Symlink(".", filepath.Join(dir, "self")), unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if headers, _ := sent(t, Build{Context: dir}); headers["pipe"] != nil || headers["loop"] == nil || headers["self"] == nil {
		t.Errorf("%v", slices.Sorted(maps.Keys(headers)))
	}
	sparse, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sparse.Truncate(300<<30), sparse.Close()); err != nil {
		t.Fatal(err)
	}
	s, err := readSources(Build{Context: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.write(t.Context(), io.Discard, nil, sha256.New()); err == nil || !strings.Contains(err.Error(), "sparse: with it, the context is larger than 16 GiB") {
		t.Errorf("300 GB: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.write(ctx, io.Discard, nil, sha256.New()); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

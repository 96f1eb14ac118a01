package instance

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sett/contract/config"
	"sett/roles/cli/term"
	"sett/roles/role"
)

// located is a locator in a new repository, and the path of its sett.yml.
func located(t *testing.T, state string) (l *Locator, file string) {
	t.Helper()
	repository, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.Mkdir(filepath.Join(repository, ".git"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	on := &term.Terminal{Env: role.Env{Lookup: func(name string) (string, bool) { return state, name == "XDG_STATE_HOME" }}}
	return New(on, Flags{Directory: repository}), filepath.Join(repository, ConfigName)
}

func agreedFor(t *testing.T, l *Locator, file string) *Agreed {
	t.Helper()
	a, err := AgreedFor(l, file)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func rightsNamed(keys ...string) (all []config.Right) {
	for _, key := range keys {
		all = append(all, config.Right{Key: key, Text: "does " + key})
	}
	return all
}

// Agreed rights stay agreed when others join them, and for their own repository alone.
func TestAgreedRightsOnlyGrow(t *testing.T) {
	state := t.TempDir()
	l, file := located(t, state)
	other, otherFile := located(t, state)
	a := agreedFor(t, l, file)
	if grown := a.Growth(rightsNamed("a", "b")); !slices.Equal(grown, rightsNamed("a", "b")) {
		t.Errorf("at first: %v", grown)
	}
	for _, step := range [][]string{{"b"}, {"c", "a"}, {"a"}, {}} {
		if err := agreedFor(t, l, file).Add(rightsNamed(step...)); err != nil {
			t.Fatal(err)
		}
	}
	a = agreedFor(t, l, file)
	if !slices.Equal(a.Rights, rightsNamed("a", "b", "c")) {
		t.Errorf("the union is %v", a.Rights)
	}
	if grown := a.Growth(rightsNamed("d", "a", "c")); !slices.Equal(grown, rightsNamed("d")) {
		t.Errorf("grown: %v", grown)
	}
	same := []config.Right{{Key: "a", Text: "does more"}}
	if grown := a.Growth(same); !slices.Equal(grown, same) {
		t.Errorf("another text of the same key: %v", grown)
	}
	if grown := agreedFor(t, other, otherFile).Growth(rightsNamed("a")); len(grown) != 1 {
		t.Error("one repository's rights count in another")
	}
	aside := filepath.Join(t.TempDir(), ConfigName)
	if grown := agreedFor(t, l, aside).Growth(rightsNamed("a")); len(grown) != 1 {
		t.Error("the repository's rights count for a file elsewhere")
	}
}

func TestAgreedRecordIsPrivateAndWhole(t *testing.T) {
	state := t.TempDir()
	l, file := located(t, state)
	a := agreedFor(t, l, file)
	if err := a.Add(rightsNamed("a")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{a.path: 0o600, filepath.Dir(a.path): 0o700 | os.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(a.path)); err != nil || len(entries) != 1 {
		t.Errorf("%d files, %v", len(entries), err)
	}
	if config.ValidInstanceName(filepath.Base(filepath.Dir(a.path))) == nil {
		t.Error("an instance can have the folder's name")
	}
	if all, err := l.All(); err != nil || len(all) != 0 {
		t.Errorf("instances: %v, %v", all, err)
	}
	// Half a record, and one of another repository, agree to nothing.
	for _, text := range []string{"{\"repository\": ", `{"repository": "/elsewhere", "rights": [{"key": "a", "text": "does a"}]}`} {
		if err := os.WriteFile(a.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if grown := agreedFor(t, l, file).Growth(rightsNamed("a")); len(grown) != 1 {
			t.Errorf("%s counts", text)
		}
	}
}

// A record that tools of the repository may write agrees to nothing, whatever link leads
// to it.
func TestAgreedRecordInTheRepositoryDoesNotCount(t *testing.T) {
	for _, name := range []string{"state", "link"} {
		state := t.TempDir()
		l, file := located(t, state)
		repository := filepath.Dir(file)
		if err := os.Symlink(repository, filepath.Join(state, "link")); err != nil {
			t.Fatal(err)
		}
		inside := filepath.Join(map[bool]string{true: state, false: repository}[name == "link"], name)
		on := &term.Terminal{Env: role.Env{Lookup: func(name string) (string, bool) { return inside, name == "XDG_STATE_HOME" }}}
		l = New(on, l.Flags)
		if err := agreedFor(t, l, file).Add(rightsNamed("a")); err != nil {
			t.Fatal(err)
		}
		written, err := agreedIn(l, repository)
		if err != nil {
			t.Fatal(err)
		}
		if Exists(written.path) {
			t.Errorf("%s: %s was written", name, written.path)
		}
		if err := written.Add(rightsNamed("a")); err != nil { // as a tool would
			t.Fatal(err)
		}
		if grown := agreedFor(t, l, file).Growth(rightsNamed("a")); len(grown) != 1 {
			t.Errorf("%s: the repository's own record counts", name)
		}
	}
}

// A purge forgets the rights with the repository's last instance.
func TestForgetAgreed(t *testing.T) {
	state := t.TempDir()
	l, file := located(t, state)
	if err := agreedFor(t, l, file).Add(rightsNamed("a")); err != nil {
		t.Fatal(err)
	}
	instances := map[string]*Instance{}
	for _, name := range []string{"one", "two"} {
		in := &Instance{Dir: filepath.Join(state, "sett", name), State: State{Name: name, Workspace: filepath.Dir(file), ConfigFile: file}}
		if err := os.Mkdir(in.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := in.Save(); err != nil {
			t.Fatal(err)
		}
		instances[name] = in
	}
	forget := func(name string, want int) {
		t.Helper()
		if err := os.RemoveAll(instances[name].Dir); err != nil {
			t.Fatal(err)
		}
		if err := ForgetAgreed(l, instances[name]); err != nil {
			t.Fatal(err)
		}
		if got := len(agreedFor(t, l, file).Rights); got != want {
			t.Errorf("after %s: %d rights, want %d", name, got, want)
		}
	}
	forget("one", 1)
	forget("two", 0)
	if Exists(filepath.Join(state, "sett", agreedFolder)) {
		t.Error("an empty folder stays")
	}
	forget("two", 0) // nothing to forget is no error
}

// Agreed rights are those of one git directory: not of another at its path, with or without an id.
func TestAgreedRightsOfAnotherRepository(t *testing.T) {
	l, file := located(t, t.TempDir())
	dir := filepath.Join(filepath.Dir(file), ".git")
	anew := func() {
		t.Helper()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // file systems take the time of the clock's last tick
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := agreedFor(t, l, file).Add(rightsNamed("a")); err != nil {
		t.Fatal(err)
	}
	id := identityOf(filepath.Dir(file))
	if id == "" {
		t.Error("the repository has no identity")
	}
	anew()
	if a := agreedFor(t, l, file); !a.foreign || len(a.Growth(rightsNamed("a"))) != 1 {
		t.Errorf("without an id: %+v", a)
	}
	if err := agreedFor(t, l, file).AddImage("git:1", "x"); err != nil { // it binds nothing
		t.Fatal(err)
	}
	if a := agreedFor(t, l, file); a.ID != "" || len(a.Growth(rightsNamed("a"))) != 1 {
		t.Errorf("after an image: %+v", a)
	}
	if err := agreedFor(t, l, file).Add(rightsNamed("b")); err != nil {
		t.Fatal(err)
	}
	if a := agreedFor(t, l, file); a.foreign || identityOf(a.Repository) == id || !slices.Equal(a.Growth(rightsNamed("a", "b")), rightsNamed("a")) {
		t.Errorf("with an id of its own: %+v", a)
	}
}

// A record of an older sett counts, and is bound to the repository by the next command that needs rights.
func TestAgreedRightsGetAnID(t *testing.T) {
	l, file := located(t, t.TempDir())
	a := agreedFor(t, l, file)
	a.Rights = rightsNamed("a")
	if err := os.MkdirAll(filepath.Dir(a.path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := a.write(); err != nil {
		t.Fatal(err)
	}
	r := Request{Needs: rightsNamed("a"), File: file}
	if grown, err := (Consent{}).Growth(l, r); len(grown) != 0 || err != nil || agreedFor(t, l, file).ID != "" {
		t.Errorf("a look: %v, %v", grown, err)
	}
	if err := (Consent{}).Settle(l, r); err != nil {
		t.Error(err)
	}
	if a = agreedFor(t, l, file); a.ID == "" || a.ID != identityOf(a.Repository) || !slices.Equal(a.Rights, rightsNamed("a")) {
		t.Errorf("%+v", a)
	}
}

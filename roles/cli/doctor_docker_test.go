package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"sett/contract/config"
	"sett/roles/cli/doctor"
)

// TestDoctorEngine: with an engine, what sett.yml needs of it, what runs there, and
// what nobody here knows of; and the engine has nothing of an instance that was only
// looked at.
func TestDoctorEngine(t *testing.T) {
	t.Parallel()
	e, engine, name, _ := containerWorkspace(t)
	file := filepath.Join(e.Args[1], "Dockerfile")
	if err := os.WriteFile(file, []byte("FROM sett-base:local\nFROM no-such-image:9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rewrite(t, e, "agents:\n  one: {image: \"sett-base:local\", command: [x]}\n  two: {image: \"no-such-image:8\", command: [x]}\n  three: {build: ., command: [x]}\n")
	fs := doctored(t, e)
	fs.expect(t, "engine", "", doctor.OK, engine.Facts().Version, "")
	fs.expect(t, "images", "redis", doctor.OK, "redis:7-alpine is here", "")
	fs.expect(t, "images", "repository", doctor.OK, config.DefaultRepositoryImage+" is here", "")
	fs.expect(t, "images", "agent one", doctor.OK, "sett-base:local is here", "")
	fs.expect(t, "images", "agent two", doctor.Warning, "no-such-image:8 is not here; sett up would pull it", "docker pull no-such-image:8")
	fs.expect(t, "images", "agent three", doctor.Warning, "the base of its build, no-such-image:9, is not here", "docker pull no-such-image:9")
	fs.expect(t, "clock", "engine", doctor.OK, "is right", "")
	if _, has := instanceOf(t, engine, name); has {
		t.Error("the engine has the instance")
	}

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	doctored(t, e).expect(t, "images", "agent three", doctor.Problem, "no such Dockerfile: "+file, "")

	rewrite(t, e, "agents:\n  one: {image: \"sett-base:local\", command: [/bin/cat]}\n")
	if _, err := invoke(context.Background(), e, "up"); err != nil {
		t.Fatal(err)
	}
	fs = doctored(t, e)
	fs.expect(t, "instance", name, doctor.OK, "running, 1 of 1 agents ready", "")
	fs.expect(t, "blackboard", name, doctor.OK, "it fsyncs what it acknowledges", "")
	fs.expect(t, "clock", "blackboard of "+name, doctor.OK, "is right", "")

	// Another state directory knows nothing of it.
	other := with(with(e, "XDG_STATE_HOME", t.TempDir()), "SETT_INSTANCE", "")
	doctored(t, other).expect(t, "leftovers", name, doctor.Warning, "4 containers of an instance that this state directory does not know", "look first whose it is: sett list --all")
	if _, err := invoke(context.Background(), e, "down", "--purge", "--yes"); err != nil {
		t.Error(err)
	}
}

package deploy

import (
	"strings"
	"testing"

	"sett/contract/config"
)

// A flag in place of a key is a person's word, and processes use no key of containers.
func TestRequestOf(t *testing.T) {
	f := &facts{file: "sett.yml", desired: &config.Config{Runtime: config.RuntimeDocker}}
	for _, key := range []string{"agents.one.build.context", "agents.one.environment", "notify", "redis.url", "runtime", "services.orchestrator.image", "services.redis.image"} {
		f.rights = append(f.rights, config.Right{Key: key})
	}
	const containers = "agents.one.build.context agents.one.environment notify redis.url runtime services.orchestrator.image services.redis.image"
	for name, c := range map[string]struct {
		o       Options
		runtime string
		want    string
	}{
		"no flag":             {Options{}, config.RuntimeDocker, containers},
		"other flags":         {Options{Orchestrator: "host", AdoptEmpty: true}, config.RuntimeDocker, containers},
		"a Redis of a flag":   {Options{RedisURL: "redis://x"}, config.RuntimeDocker, "agents.one.build.context agents.one.environment notify runtime services.orchestrator.image"},
		"embedded":            {Options{Embedded: true}, config.RuntimeDocker, "agents.one.build.context agents.one.environment notify redis.url runtime services.orchestrator.image"},
		"containers by flag":  {Options{Runtime: config.RuntimeDocker}, config.RuntimeDocker, "agents.one.build.context agents.one.environment notify redis.url services.orchestrator.image services.redis.image"},
		"processes by flag":   {Options{Runtime: config.RuntimeProcess}, config.RuntimeProcess, "agents.one.environment notify redis.url"},
		"processes, as ever":  {Options{}, config.RuntimeProcess, "agents.one.environment notify redis.url runtime"},
		"processes and Redis": {Options{RedisURL: "redis://x"}, config.RuntimeProcess, "agents.one.environment notify runtime"},
	} {
		f.desired.Runtime = c.runtime
		r := requestOf(f, c.o)
		var keys []string
		for _, right := range r.Needs {
			keys = append(keys, right.Key)
		}
		if got := strings.Join(keys, " "); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
		if len(r.Rights) != len(f.rights) {
			t.Errorf("%s: the digest covers %d of %d rights", name, len(r.Rights), len(f.rights))
		}
	}
}

// A flag that says the runtime agrees to its rights, which the next up needs without it.
func TestRequestOfSaidRuntime(t *testing.T) {
	f := &facts{desired: &config.Config{Runtime: config.RuntimeProcess}, rights: []config.Right{{Key: "notify"}}, beyond: []config.Right{{Key: "local.write"}, {Key: "runtime"}}}
	if r := requestOf(f, Options{Runtime: config.RuntimeProcess}); len(r.Needs) != 1 || len(r.Said) != 2 || len(r.Rights) != 1 {
		t.Errorf("by a flag: %+v", r)
	}
	if r := requestOf(f, Options{}); len(r.Needs) != 3 || len(r.Said) != 0 || len(r.Rights) != 1 || len(r.Beyond) != 2 {
		t.Errorf("as before: %+v", r)
	}
}

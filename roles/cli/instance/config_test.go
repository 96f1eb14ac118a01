package instance

import (
	"os"
	"strings"
	"testing"

	"sett/contract/config"
)

// The file that the parts read has no password of a Redis of the user's own; the configuration that commands compare has it. Only
// the URL that the state has is taken for the same.
func TestConfigWithoutPassword(t *testing.T) {
	t.Parallel()
	const at, sentinels = "redis://ann:secret@redis.example:6379/3", "redis://:secret@one:26379?addr=two:26379&master_set=main&sentinel_password=hidden"
	for _, c := range []struct {
		url, state, want string
		external         bool
	}{
		{at, at, at, true},
		{sentinels, sentinels, sentinels, true},
		{"redis://redis.example", "redis://redis.example", "redis://redis.example", true},
		{at, "redis://ann:secret@other.example:6379/3", "redis://ann:xxxxx@redis.example:6379/3", true},
		{"", "redis://:own@127.0.0.1:7000", "", false},
	} {
		in := &Instance{Dir: t.TempDir(), State: State{Name: "x", URL: c.state, External: c.external}}
		clan := &config.Config{}
		clan.Redis.URL, clan.Services.Redis.URL = c.url, c.url
		if err := SaveConfig(in, clan); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(in.ConfigPath())
		if err != nil || strings.Contains(string(text), "secret") || strings.Contains(string(text), "hidden") {
			t.Errorf("%s: %s, %v", c.url, text, err)
		}
		got, err := in.Config()
		if err != nil || got.Redis.URL != c.want || got.Services.Redis.URL != c.want || clan.Redis.URL != c.url {
			t.Errorf("%s: %+v, %v; the one that was saved has %s", c.url, got, err, clan.Redis.URL)
		}
	}
}

// A configuration of an older sett gets the defaults of the keys that it lacks.
func TestConfigOfAnOlderSett(t *testing.T) {
	t.Parallel()
	in := &Instance{Dir: t.TempDir(), State: State{Name: "x"}}
	if err := os.WriteFile(in.ConfigPath(), []byte(`{"version": "1.0", "agents": [{"name": "a", "workspace": {"mode": "rw"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := in.Config()
	if err != nil || c.Agents[0].Concurrency != 1 || c.Agents[0].Workspace.MinFree != config.DefaultMinFree || c.Agents[0].Workspace.Mode != "rw" || c.Services.Repository.Image != config.DefaultRepositoryImage {
		t.Errorf("%+v, %v", c, err)
	}
}

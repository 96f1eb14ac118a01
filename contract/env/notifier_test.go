package env_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/contract/env"
)

// What the notifier is started with comes back from its variables.
func TestNotifierRoundTrip(t *testing.T) {
	n := env.Notifier{
		Instance: "demo", Command: []string{"bin/notify", "two words", `"é"=`}, Timeout: 7 * time.Second, Workspace: "/workspace",
		PeoplesPath: "/home/me/repo", Run: "r1", Incarnation: "i1",
		Redis: env.Redis{URL: "redis://:secret@host:1/0", Timeout: time.Second, Retries: 7, GiveUp: time.Minute, CAFile: "/ca.pem"},
	}
	got, err := env.ParseNotifier(lookup(n.Environ()))
	if err != nil || !reflect.DeepEqual(got, n) {
		t.Errorf("got\n%+v %v\nwant\n%+v", got, err, n)
	}
}

func TestNotifierDefaultsAndProblems(t *testing.T) {
	least := []string{"SETT_INSTANCE_NAME=demo", "REDIS_URL=redis://h:1/0", `SETT_NOTIFY_COMMAND=["n"]`}
	got, err := env.ParseNotifier(lookup(least))
	if err != nil || got.Timeout != 30*time.Second || got.Workspace != "/workspace" || got.PeoplesPath != "/workspace" {
		t.Errorf("got %+v %v", got, err)
	}
	_, err = env.ParseNotifier(lookup(nil))
	var all env.Errors
	if !errors.As(err, &all) || len(all) != 3 || !strings.Contains(err.Error(), `SETT_NOTIFY_COMMAND is not set; want a JSON array such as ["bin/notify"]`) {
		t.Errorf("nothing is set: %v", err)
	}
	for _, broken := range []string{"SETT_NOTIFY_COMMAND=n", "SETT_NOTIFY_COMMAND=[]", `SETT_NOTIFY_COMMAND=[""]`, "SETT_NOTIFY_TIMEOUT=5"} {
		name, _, _ := strings.Cut(broken, "=")
		if _, err := env.ParseNotifier(lookup(append([]string{broken}, least...))); !errors.As(err, &all) || len(all) != 1 ||
			!strings.HasPrefix(all[0], name+" is ") {
			t.Errorf("%s: %v", broken, err)
		}
	}
}

func TestWithoutSecrets(t *testing.T) {
	given := []string{"A=1"}
	for _, name := range env.Secret {
		given = append(given, name+"=s3cret")
	}
	given = append(given, "Z=2")
	before := slices.Clone(given)
	if got := env.WithoutSecrets(given); !slices.Equal(got, []string{"A=1", "Z=2"}) || !slices.Equal(given, before) {
		t.Errorf("got %q of %q", got, given)
	}
}

package deploy

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
)

// Each reason why an agent has no image has its own ways on, and those of another reason
// are not named.
func TestWaysOn(t *testing.T) {
	words := map[imageFault]string{
		faultPull: "another image in sett.yml", faultBase: "another base image", faultFiles: "names the context", faultDockerfile: "mend the Dockerfile",
		faultBuildKit: "classic builder", faultStep: "mend that step",
	}
	for fault := range words {
		err := noImages(t.Context(), &missingError{Images: []missingImage{{Name: "agent one", Ref: "r", Reason: "x", Fault: fault}}}, noDocker)
		var e *role.Error
		if !errors.As(err, &e) || role.CodeOf(err) != role.Environment {
			t.Fatal(err)
		}
		for other, word := range words {
			if strings.Contains(e.Hint, word) != (other == fault) {
				t.Errorf("fault %d: %q in %s", fault, word, e.Hint)
			}
		}
		if strings.Contains(e.Hint, noDocker) != (fault == faultPull || fault == faultBase) {
			t.Errorf("fault %d: %s", fault, e.Hint)
		}
	}
}

// Arguments of a build have the values of this machine's variables, as environment has.
func TestBuildArguments(t *testing.T) {
	c := &config.Config{Runtime: config.RuntimeDocker, Agents: []config.Agent{{Name: "one", Build: &config.Build{Context: ".", Args: map[string]string{"T": "x${MINE}", "L": "$$"}}}}}
	c.Services.Redis.Embedded = true
	in := &instance.Instance{}
	in.Name, in.ConfigFile = "test", "/clan/sett.yml"
	wants := wantedImages(c, in, func(name string) (string, bool) { return name, true })
	got := wants[len(wants)-1].Build.Args
	if want := map[string]string{"T": "xMINE", "L": "$"}; !maps.Equal(got, want) || c.Agents[0].Build.Args["T"] != "x${MINE}" {
		t.Errorf("got %q", got)
	}
}

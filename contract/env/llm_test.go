package env_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/contract/env"
)

func TestLLMRoundTrip(t *testing.T) {
	warm := 0.5
	l := env.LLM{
		Context: 200_000, MaxOutput: 8000, Temperature: &warm, Tools: []string{"edit", "run", "search"}, Run: []string{"go", "git"}, Shell: true,
		RunTimeout: time.Minute, Steps: 7, Makes: []string{"Plan"}, Terminal: true,
	}
	got, err := env.ParseLLM(lookup([]string{env.LLMSettings + "=" + l.Encode()}))
	if err != nil || !reflect.DeepEqual(got, l) {
		t.Errorf("got\n%+v %v\nwant\n%+v", got, err, l)
	}
}

func TestLLMDefaultsAndProblems(t *testing.T) {
	got, err := env.ParseLLM(lookup(nil))
	if err != nil || got.MaxOutput != env.DefaultMaxOutput || got.Steps != env.DefaultSteps || got.RunTimeout != env.DefaultRunTimeout {
		t.Errorf("got %+v %v", got, err)
	}
	if got, _ := env.ParseLLM(lookup([]string{`SETT_LLM={"context":8000}`})); got.MaxOutput != 4000 {
		t.Errorf("an answer may take %d tokens of a context of 8000", got.MaxOutput)
	}
	for broken, want := range map[string]string{
		"x": "a JSON object", "{} {}": "a JSON object", `{"tool":[]}`: "a JSON object", `{"tools":["rm"]}`: "tools among edit, run, search", `{"steps":-1}`: "negative",
	} {
		if _, err := env.ParseLLM(lookup([]string{"SETT_LLM=" + broken})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", broken, err)
		}
	}
}

func TestWithoutDoor(t *testing.T) {
	given := []string{"PATH=/bin", "SETT_CLAIM_ID=c", "GOFLAGS=-v", "REDIS_URL=r"}
	for _, name := range env.DoorVariables {
		given = append(given, name+"=token")
	}
	before := slices.Clone(given)
	if got := env.WithoutDoor(given); !slices.Equal(got, []string{"PATH=/bin", "GOFLAGS=-v"}) || !slices.Equal(given, before) {
		t.Errorf("got %q", got)
	}
}

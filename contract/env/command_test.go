package env_test

import (
	"errors"
	"testing"
	"time"

	"sett/contract/config"
	"sett/contract/env"
)

// Two that are broken are both named.
func TestCubAllProblems(t *testing.T) {
	_, err := env.ParseCub(lookup(append([]string{"SETT_AGENT_TIMEOUT=x", "SETT_WORKSPACE_MODE=x", "SETT_AGENT_COMMAND=[]"}, least...)))
	var all env.Errors
	if !errors.As(err, &all) || len(all) != 3 {
		t.Errorf("got %v", err)
	}
}

// What sett.yml may set to zero is not replaced by the default.
func TestCubZeros(t *testing.T) {
	c := env.Of(config.Agent{Name: "writer", Command: []string{"/run.sh"}, Timeout: time.Minute}) // stop_grace_period: 0 kills at once
	c.Instance, c.Redis = "demo", env.Redis{URL: "redis://host", Timeout: time.Second, GiveUp: time.Minute}
	got, err := env.ParseCub(lookup(c.Environ()))
	if err != nil || got.Grace != 0 || got.Redis.Retries != 0 {
		t.Errorf("grace %s, %d retries, %v", got.Grace, got.Redis.Retries, err)
	}
}

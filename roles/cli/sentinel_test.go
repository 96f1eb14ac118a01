package cli

import (
	"context"
	"strings"
	"testing"

	"sett/blackboard/redis/redistest"
	"sett/roles/cli/doctor"
)

// A password that the Sentinels refuse is told as theirs, by up and by the doctor, and
// nowhere printed.
func TestWrongSentinelPassword(t *testing.T) {
	s := redistest.Start(t)
	sentinel := redistest.LoneSentinel(t, s.Addr(), "requirepass hush\n")
	e, _ := workspace(t)
	rewrite(t, e, "runtime: process\nredis: {url: \"redis://"+sentinel.Addr()+"?master_set=mymaster&sentinel_password=wrong-one\"}\nagents:\n  one: {command: [/bin/cat]}\n")
	fs := doctored(t, e)
	fs.expect(t, "blackboard", "redis.url", doctor.Problem, "the Sentinel at "+sentinel.Addr()+" refuses", "redis.url in sett.yml right?")
	out, err := invoke(context.Background(), e, "up", "--yes")
	if err == nil || !strings.Contains(err.Error(), "the Sentinel at "+sentinel.Addr()+" refuses") {
		t.Errorf("up: %v", err)
	}
	if text := out + err.Error() + fs.about(t, "blackboard", "redis.url").Finding; strings.Contains(text, "wrong-one") {
		t.Errorf("the password is shown: %s", text)
	}
}

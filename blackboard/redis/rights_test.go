package redis

import (
	"net/url"
	"testing"

	"sett/blackboard/redis/redistest"
)

// limited returns a server's URL as a user that may do all, but for the given rules.
func limited(t *testing.T, w *world, user string, rules ...string) string {
	t.Helper()
	w.raw("ACL", append([]string{"SETUSER", user, "on", ">secret", "~*", "&*", "+@all"}, rules...)...)
	u, err := url.Parse(w.b.c.Options.URL)
	must(t, err)
	u.User = url.UserPassword(user, "secret")
	return u.String()
}

// A user that may not publish makes every move whole: what comes of it, and the ledger, are as with
// notices.
func TestMovesWithoutChannels(t *testing.T) {
	r := redistest.Start(t)
	w := newWorld(t, &server{r.URL, r.Kill, r.Restart})
	life(w, func(string) {})
	want := w.story()
	silent := limited(t, w, "silent", "resetchannels")
	w.raw("FLUSHALL")
	w = newWorld(t, &server{url: silent})
	life(w, func(string) {})
	if got := w.story(); got != want {
		t.Errorf("without channels\n%s\nwith them\n%s", got, want)
	}
	w.openGoal()
	w.gates("Plan")
	w.peoplesGoals()
	w.export("")
}

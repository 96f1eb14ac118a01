package instance

import (
	"fmt"

	"sett/blackboard/redis"
	"sett/roles/role"
)

// Evicts says that a Redis of the user's own may drop records when its memory is full, and the remedy; empty: it does not,
// or does not tell.
func Evicts(d redis.Durability, url string) (warning, remedy string) {
	if d.Eviction == "" || d.Eviction == "noeviction" {
		return "", ""
	}
	when := "would, were its memory limited,"
	if d.Limited {
		when = "will, when its memory is full,"
	}
	return fmt.Sprintf("Redis %s %s forget artefacts (%s)", d.Version, when, d.Eviction), Setting(d, url, "maxmemory-policy noeviction")
}

// Setting is the way to give a Redis a setting.
func Setting(d redis.Durability, url, what string) string {
	if d.Spread {
		return fmt.Sprintf("on every server of %s: CONFIG SET %s, and in redis.conf", role.Clean(Redact(url)), what)
	}
	return fmt.Sprintf("redis-cli -u %s CONFIG SET %s, and in redis.conf", role.ShellWord(Redact(url)), what)
}

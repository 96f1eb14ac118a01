package deploy

import (
	"slices"
	"strings"

	"sett/contract/config"
	"sett/roles/cli/instance"
)

// requestOf is the rights that an up takes from sett.yml.
func requestOf(f *facts, o Options) instance.Request {
	processes := f.desired.Runtime == config.RuntimeProcess
	r := instance.Request{Rights: f.rights, Beyond: f.beyond, File: f.file}
	for _, right := range slices.Concat(f.rights, f.beyond) {
		switch {
		case processes && ofContainers(right.Key):
		case !o.overrules(right.Key):
			r.Needs = append(r.Needs, right)
		case processes && right.OfPrograms():
			r.Said = append(r.Said, right) // the next up goes on with this runtime without the flag
		}
	}
	return r
}

// overrules says whether a flag takes the place of a key of sett.yml: it is a person's
// word.
func (o Options) overrules(key string) bool {
	switch key {
	case "runtime", "local.write":
		return o.Runtime != ""
	case "redis.url":
		return o.RedisURL != ""
	case "redis.ca_file":
		return o.CAFile != ""
	case "services.redis.image":
		return o.RedisURL != "" || o.Embedded
	}
	return false
}

// ofContainers says whether processes leave a key unused.
func ofContainers(key string) bool {
	return strings.HasPrefix(key, "services.") || strings.Contains(key, ".build.")
}

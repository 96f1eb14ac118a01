package deploy

import (
	"slices"
	"strings"

	"sett/contract/config"
	"sett/roles/cli/instance"
)

// requestOf is the rights that an up takes from sett.yml.
func requestOf(f *facts, o Options) instance.Request {
	needs := slices.DeleteFunc(slices.Clone(f.rights), func(r config.Right) bool {
		return o.overrules(r.Key) || f.desired.Runtime == config.RuntimeProcess && ofContainers(r.Key)
	})
	return instance.Request{Rights: f.rights, Needs: needs, File: f.file}
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

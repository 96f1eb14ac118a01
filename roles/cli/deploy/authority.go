package deploy

import (
	"fmt"
	"os"
	"path"
	"strings"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/container"
	"sett/runtime"
)

// authority has the certificates that vouch for a Redis of the user's own.
type authority struct {
	file     string // whole path; empty: known authorities vouch for it
	text     []byte
	variable bool // the variable named it, not sett.yml
}

// checkServer checks the URL of a flag or the variable as that of sett.yml is checked.
func checkServer(o Options) error {
	from := env.OwnRedis
	if o.Server != "" {
		from = "--redis-url"
	}
	if fault, hint := blackboard.CheckURL(o.RedisURL); fault != "" {
		return role.Fail(role.Usage, fmt.Errorf("%s: %s", from, fault), "%s", hint)
	}
	return nil
}

// CAFile is the whole path of the file of certificates for the server that sett.yml or the
// variable names; empty: there is none. The variable comes first, as that of the URL does.
func CAFile(at *instance.Locator, c *config.Config, configFile string) string {
	if named := at.Getenv(env.RedisCAFile); named != "" {
		if whole, err := at.Path(named); err == nil {
			return whole
		}
	}
	if c.Redis.CAFile == "" {
		return ""
	}
	return HostPath(at, configFile, c.Redis.CAFile)
}

// readAuthority reads the certificates for the server of a configuration with a URL. In the
// configuration the file is that of the copy, which all parts use: see placeAuthority.
func readAuthority(at *instance.Locator, c *config.Config, configFile string) (a authority, err error) {
	if strings.HasPrefix(c.Redis.URL, "rediss://") {
		a.file = CAFile(at, c, configFile)
	}
	if a.file == "" {
		c.Redis.CAFile = ""
		return a, nil
	}
	from := "redis.ca_file"
	if a.variable = at.Getenv(env.RedisCAFile) != ""; a.variable {
		from = env.RedisCAFile
	}
	if a.text, err = readNamed(at, a.file, mostCertificates); err == nil {
		_, err = role.Certificates(a.text)
	}
	if err != nil {
		return a, role.Fail(role.Usage, fmt.Errorf("%s: %s: %w", from, role.Clean(a.file), err), "it names a PEM file with the certificate of the CA that signed the server's")
	}
	return a, nil
}

// placeAuthority names the copy in the configuration: a file at another place with the
// same certificates is no change. Without the variable, the file that it named once vouches for the same server.
func placeAuthority(u *upRun) {
	a, redis := &u.facts.authority, &u.facts.desired.Redis
	if a.file == "" && u.in.VariableCA && u.in.URL == redis.URL {
		if text, err := os.ReadFile(instance.CAFile(u.in)); err == nil {
			*a = authority{instance.CAFile(u.in), text, true}
		}
	}
	if a.file != "" {
		redis.CAFile = instance.CAFile(u.in)
	}
}

// placedSince is the configuration of a running instance with the file that its parts had by the variable: an older sett
// kept no copy, and did not note it.
func placedSince(f *facts, before *config.Config) *config.Config {
	if before == nil || f.state.UpAt != "" || !f.authority.variable || before.Redis.URL != f.desired.Redis.URL {
		return before
	}
	with := *before
	with.Redis.CAFile = f.desired.Redis.CAFile
	return &with
}

// authorityInside is the file as the orchestrator's container sees it, and the mount for that;
// empty: there is none.
func authorityInside(j *job) (file string, mounts []runtime.Mount) {
	if j.c.Redis.CAFile == "" {
		return "", nil
	}
	return path.Join(container.RedisCA, container.CAName), []runtime.Mount{{Source: instance.CADir(j.in), Target: container.RedisCA, ReadOnly: true}}
}

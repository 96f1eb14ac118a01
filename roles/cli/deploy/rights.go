package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
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

// staysWithRepository asks before an instance goes on with another repository than the one that it was made for: its
// ledger and its commits are those of the other.
func staysWithRepository(ctx context.Context, u *upRun) error {
	in := instance.Replaced(ctx, u.at, u.facts.root)
	if in == nil {
		return nil
	}
	_, inTool := role.InTool(u.at.Env)
	switch {
	case u.options.Consent.Yes && !inTool:
		u.at.Sayf("sett: note: %s; it goes on with this one\n", replacedBy(u, in))
	case inTool || !role.IsTerminal(u.at.Stdin):
		return role.Fail(role.Usage, errors.New(replacedBy(u, in)),
			"sett down --purge --name %s removes the instance with its ledger, and sett up begins anew; sett up --yes goes on with it", in.Name)
	default:
		_, _ = fmt.Fprintf(u.at.Prompt, "%s\n", replacedBy(u, in))
		if ok, err := u.at.Confirm("Go on with instance "+in.Name+" and its ledger?", "--yes"); err != nil {
			return err
		} else if !ok {
			return role.Fail(role.Failed, errors.New("nothing was done"), "sett down --purge --name %s removes the instance with its ledger, and sett up begins anew", in.Name)
		}
	}
	return nil
}

// replacedBy says that an instance's repository is another one.
func replacedBy(u *upRun, in *instance.Instance) string {
	return fmt.Sprintf("%s has another repository now than the one that instance %s was made for: its first commit, %.10s, is not there", role.Clean(u.facts.shown), in.Name, in.First)
}

package deploy

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/runtime"
)

// The values of the host's variables that sett.yml gives programs go to the orchestrator in
// its environment alone, which gives each unit its own. Files, labels and the ledger
// have the names, and a keyed digest by which an up notices a new value.

// maxValues is the most bytes that a process surely takes as one variable.
const maxValues = 100 << 10

// hostValues looks the variables up, and notes those that are not set in the facts.
func hostValues(f *facts, lookup func(string) (string, bool)) (values map[string]string, err error) {
	if values, f.unset, err = f.desired.HostValues(lookup); err != nil {
		return nil, role.Fail(role.Usage, err, "export it, or give it a default in %s", instance.ConfigName)
	}
	if text := valuesEnviron(values); len(text) > 0 && len(text[0]) > maxValues {
		return nil, role.Fail(role.Usage, errors.New("the variables of this machine that environment names are longer than 100 KiB"), "hand the longest over as a file")
	}
	return values, nil
}

// valuesEnviron hands the values to the orchestrator.
func valuesEnviron(values map[string]string) []string {
	if len(values) == 0 {
		return nil
	}
	text, err := json.Marshal(values)
	if err != nil {
		panic("deploy: encode texts: " + err.Error()) // a map of texts cannot fail
	}
	return []string{env.HostValues + "=" + string(text)}
}

// noteValues notes in the parts of each unit which values it gets.
func noteValues(f *facts, values map[string]string) {
	if f.state.ValuesKey == "" {
		f.state.ValuesKey = rand.Text()
	}
	note := func(r *config.Resolved, vars []config.EnvVar) {
		if r != nil { // its image is there
			r.Values = valuesDigest(f.state.ValuesKey, vars, values)
		}
	}
	for _, a := range f.desired.Agents {
		note(a.Resolved, a.Environment)
	}
	if n := f.desired.Notify; n != nil {
		note(n.Resolved, n.Environment)
	}
	if o := f.desired.Otel; o != nil {
		o.Found.Values = valuesDigest(f.state.ValuesKey, o.Headers, values)
	}
}

// valuesDigest is the keyed digest of the values that a unit gets from the host; empty: it
// wants none.
func valuesDigest(key string, vars []config.EnvVar, values map[string]string) string {
	h := hmac.New(sha256.New, []byte(key))
	none := true
	for _, v := range vars {
		for _, name := range v.Uses() {
			value, set := values[name]
			fmt.Fprintf(h, "%q %t %q\n", name, set, value)
			none = false
		}
	}
	if none {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// newValues says whether the orchestrator of a running instance lacks values that it needs.
func newValues(before, after *config.Config) bool {
	return !maps.Equal(valuesOf(before), valuesOf(after))
}

// valuesOf are the digests of the values of all units.
func valuesOf(c *config.Config) map[string]string {
	all := map[string]string{}
	note := func(unit string, r *config.Resolved) {
		if r != nil && r.Values != "" {
			all[unit] = r.Values
		}
	}
	for _, a := range c.Agents {
		note(runtime.AgentUnit(a.Name), a.Resolved)
	}
	if c.Notify != nil {
		note(runtime.ComponentNotifier, c.Notify.Resolved)
	}
	if c.Runtime != config.RuntimeDocker && len(c.Models) > 0 { // the orchestrator keeps the keys of its models
		note(runtime.ComponentModelGateway, c.Services.ModelGateway.Resolved)
	}
	if c.Otel != nil {
		note(runtime.ComponentOrchestrator, &config.Resolved{Values: c.Otel.Found.Values})
	}
	return all
}

// replaced are the processes that give way to new ones when a running instance changes:
// all of Sett's own where another sett started them, else those that know the values.
func (p *Plan) replaced(own []string) []string {
	switch {
	case p.other != "":
		return own
	case p.values:
		return slices.DeleteFunc(slices.Clone(own), func(part string) bool { return part == runtime.ComponentBlackboard })
	}
	return nil
}

package config

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
)

// SettingsDigest returns a hash, in hex, of all settings of sett.yml, with the defaults. The parts that sett up finds
// on the machine are not among them.
func (c *Config) SettingsDigest() string { return digest([]any{c.tree(), c.Names(), c.ModelNames()}) }

// ChangedSettings returns the dotted names of the settings in which two configurations differ, sorted, without their
// values: agents.NAME.bids, budget.calls. An agent or a model that one of them lacks has one name. Nil before: none.
func ChangedSettings(before, after *Config) []string {
	if before == nil {
		return nil
	}
	changed := changedIn("", before.tree(), after.tree(), 1)
	for _, of := range []struct {
		list    string
		was, is []string
	}{{"agents", before.Names(), after.Names()}, {"models", before.ModelNames(), after.ModelNames()}} {
		if !slices.Equal(of.was, of.is) && slices.Equal(slices.Sorted(slices.Values(of.was)), slices.Sorted(slices.Values(of.is))) {
			changed = append(changed, of.list) // in another order
		}
	}
	slices.Sort(changed)
	return changed
}

// nameDepth is the number of words of the longest name of a setting.
const nameDepth = 3

// tree returns the settings as objects of objects. Agents and models have their names as keys. A copy that an agent has of another
// part's settings is left out.
func (c *Config) tree() map[string]any {
	with := *c
	if u, err := url.Parse(c.Redis.URL); err == nil && u.User != nil { // nobody shall guess its password from a digest
		u.User = url.User(u.User.Username())
		with.Redis.URL = u.String()
	}
	with.Agents = slices.Clone(c.Agents)
	for i := range with.Agents {
		with.Agents[i].Bids = withoutLines(with.Agents[i].Bids)
	}
	all := asObject(with)
	for _, key := range []string{"agents", "models"} {
		all[key] = byName(all[key])
	}
	agents, _ := all["agents"].(map[string]any)
	for _, name := range c.Names() {
		drop(agents[name], "resolved", "traced", "commits", "local")
		agent, _ := agents[name].(map[string]any)
		drop(agent["llm"], "asks")
	}
	services, _ := all["services"].(map[string]any)
	drop(services["redis"], "url") // also redis.url
	drop(services["repository"], "resolved", "network")
	drop(services, "model_gateway") // sett.yml has nothing of it
	drop(all["notify"], "resolved")
	drop(all["otel"], "found")
	return all
}

// byName returns a list of objects as one object, with their names as keys.
func byName(list any) map[string]any {
	all := map[string]any{}
	things, _ := list.([]any)
	for _, one := range things {
		thing, _ := one.(map[string]any)
		name, _ := thing["name"].(string)
		all[name] = thing
	}
	return all
}

// drop removes keys of an object, if it is one.
func drop(object any, keys ...string) {
	if of, ok := object.(map[string]any); ok {
		for _, key := range keys {
			delete(of, key)
		}
	}
}

// changedIn compares two objects below a name of depth words, itself counted.
func changedIn(above string, before, after map[string]any, depth int) (changed []string) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for key := range all {
		was, is := before[key], after[key]
		a, inA := was.(map[string]any)
		b, inB := is.(map[string]any)
		switch {
		case reflect.DeepEqual(was, is):
		case inA && inB && depth < nameDepth:
			changed = append(changed, changedIn(above+key+".", a, b, depth+1)...)
		default:
			changed = append(changed, above+key)
		}
	}
	return changed
}

package config

import (
	"bytes"
	"encoding/json"
)

// Kept reads a Config that a sett wrote as JSON, maybe an older one: keys that were not known then get their defaults. A key
// that is left out where it is empty is empty by default, too.
func Kept(text []byte) (*Config, error) {
	all := map[string]any{}
	if err := exactly(text, &all); err != nil {
		return nil, err
	}
	defaults := asObject(defaultConfig())
	delete(defaults, "agents")
	fill(all, defaults)
	fillSection(all, "notify", defaultNotify())
	fillSection(all, "land", defaultLand())
	fillSection(all, "budget", defaultBudget())
	fillEach(all["agents"], defaultAgent(""), map[string]any{
		"build": defaultBuild(), "health_check": defaultHealthCheck(), "llm": defaultLLM(), "budget": defaultBudget()})
	fillEach(all["models"], defaultModel(""), nil)
	whole, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	var c Config
	return &c, json.Unmarshal(whole, &c)
}

// fillEach fills each object of a list, and the sections that it may be without.
func fillEach(list, defaults any, sections map[string]any) {
	whole := asObject(defaults)
	items, _ := list.([]any)
	for _, item := range items {
		one, ok := item.(map[string]any)
		if !ok {
			continue
		}
		fill(one, whole)
		for key, section := range sections {
			fillSection(one, key, section)
		}
	}
}

// fillSection fills a section that an object may be without.
func fillSection(of map[string]any, key string, defaults any) {
	if section, ok := of[key].(map[string]any); ok {
		fill(section, asObject(defaults))
	}
}

// fill adds the keys that an object lacks, and those that its objects lack.
func fill(into, defaults map[string]any) {
	for key, value := range defaults {
		own, has := into[key]
		a, inA := own.(map[string]any)
		b, inB := value.(map[string]any)
		switch {
		case !has:
			into[key] = value
		case inA && inB:
			fill(a, b)
		}
	}
}

// asObject is a value as an object of objects.
func asObject(v any) map[string]any {
	text, err := json.Marshal(v)
	if err != nil {
		panic("config: encode: " + err.Error()) // no value of its types can fail
	}
	all := map[string]any{}
	if err := exactly(text, &all); err != nil {
		panic("config: decode: " + err.Error()) // it is an object
	}
	return all
}

// exactly reads JSON, with numbers as they are written.
func exactly(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

package config

import "slices"

// defaults are the settings that agents share. An agent's own key takes the place of a
// shared one; sections are merged key by key, and environment name by name.
type defaults struct {
	node  *node // nil: the file has none
	agent Agent // the shared settings as an agent's
}

// sharedSections are the agent's keys whose values are merged.
var sharedSections = []string{"workspace", "resources", "limits", "reservations", "prompts", "health_check", "llm", "budget"}

// rivals are keys of which an agent's own takes the place of the other one, too.
var rivals = map[string]string{"image": "build", "build": "image", "bids": "bid_script", "bid_script": "bids"}

// defaultsPart keeps the section for later, as agents are.
func (d *decoder) defaultsPart(f *file) part {
	return part{
		read: func(n *node, _ string) { f.defaults.node = n },
		shape: func() *schema {
			a := defaultAgent("")
			return orNothing(objectShape(d.agentFields(&a)))
		},
		write: func() any { return nil }, // each agent has them already
	}
}

// readDefaults reads the section, so that its faults are named once: where it has any,
// agents get its keys without values.
func (d *decoder) readDefaults(s *defaults) {
	n := s.node
	if s.node = nil; n == nil {
		return
	}
	s.agent = defaultAgent("")
	before := len(d.problems)
	keys := d.read.object(n, "defaults", d.agentFields(&s.agent)...)
	if n.kind != mapping {
		return
	}
	s.node = &node{kind: mapping, at: n.at}
	if len(d.problems) > before {
		for name, key := range keys {
			s.node.entries = append(s.node.entries, entry{&node{kind: text, at: key.at, text: name}, &node{kind: broken, at: key.at}})
		}
		return
	}
	for _, e := range n.entries {
		if e.key.text != "environment" {
			s.node.entries = append(s.node.entries, e)
		}
	}
}

// into returns an agent's mapping with the shared settings that it does not have itself.
func (s defaults) into(agent *node) *node {
	if s.node == nil {
		return agent
	}
	if agent.kind == nothing {
		agent = &node{kind: mapping, at: agent.at}
	}
	return overlay(agent, s.node)
}

// overlay merges two mappings; the upper one wins.
func overlay(upper, lower *node) *node {
	if upper.kind != mapping || lower.kind != mapping {
		return upper
	}
	merged := *upper
	merged.entries = slices.Clone(upper.entries)
	for _, e := range lower.entries {
		has := func(key string) int {
			return slices.IndexFunc(upper.entries, func(own entry) bool { return own.key.text == key })
		}
		switch i := has(e.key.text); {
		case i >= 0 && slices.Contains(sharedSections, e.key.text):
			merged.entries[i].value = overlay(upper.entries[i].value, e.value)
		case i < 0 && (rivals[e.key.text] == "" || has(rivals[e.key.text]) < 0):
			merged.entries = append(merged.entries, e)
		}
	}
	return &merged
}

// environment puts the shared variables before an agent's own.
func (s defaults) environment(own []EnvVar) []EnvVar {
	var all []EnvVar
	for _, v := range s.agent.Environment {
		if !slices.ContainsFunc(own, func(o EnvVar) bool { return o.Name == v.Name }) {
			all = append(all, v)
		}
	}
	return append(all, own...)
}

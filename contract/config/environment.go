package config

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// envName is a name by POSIX.
var envName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// environment has two forms: a list of NAME and NAME=value, or a mapping of names to
// values; an empty value means inherited.
func (r *reader) environment(into *[]EnvVar) part {
	return part{
		read:  func(n *node, path string) { r.readEnvironment(n, path, into) },
		shape: environmentShape,
		write: func() any {
			var m pairs
			for _, v := range *into {
				value := any(v.Value)
				if v.Inherit {
					value = nil
				}
				m = append(m, pair{v.Name, value})
			}
			if m == nil {
				return nil
			}
			return m
		},
	}
}

func environmentShape() *schema {
	own := &schema{Type: kinds{"string"}, Pattern: `^(SETT_|REDIS_URL(=|$))`}
	return &schema{AnyOf: []*schema{
		{Type: kinds{"array"}, Unique: true, Items: &schema{
			Type: kinds{"string", "boolean"}, Pattern: `^[A-Za-z_][A-Za-z0-9_]*(=|$)`, Not: own}},
		{Type: kinds{"object", "null"}, PropertyNames: &schema{Pattern: envName().String(), Not: own},
			Additional: orNothing(&schema{Type: scalars()})},
	}}
}

func (r *reader) readEnvironment(n *node, path string, into *[]EnvVar) {
	first := map[string]*node{}
	add := func(at, value *node, v EnvVar) {
		if before := first[v.Name]; before != nil {
			r.add(at.at, fmt.Sprintf("it is first in line %d; keep one of them", before.at.line),
				"%s sets %s twice", path, quote(v.Name))
			return
		}
		first[v.Name] = at
		if r.variableName(at, path, v.Name) && r.references(value, join(path, v.Name), v.Value) {
			*into = append(*into, v)
		}
	}
	if n.kind != list {
		for _, e := range r.mapping(n, path) {
			v := EnvVar{Name: e.key.text, Inherit: e.value.kind == nothing}
			ok := v.Inherit
			if !ok {
				v.Value, ok = r.written(e.value, join(path, e.key.text))
			}
			if ok {
				add(e.key, e.value, v)
			}
		}
		return
	}
	for i, item := range n.items {
		s, ok := r.variable(item, fmt.Sprintf("%s[%d]", path, i))
		if !ok {
			continue
		}
		name, value, literal := strings.Cut(s, "=")
		add(item, item, EnvVar{Name: name, Value: value, Inherit: !literal})
	}
}

// variable reads an item of the list form.
func (r *reader) variable(n *node, path string) (string, bool) {
	if n.kind == mapping && len(n.entries) == 1 {
		r.wrongType(n, path, text, "in a list, write "+n.entries[0].key.text+"=value, without the colon")
		return "", false
	}
	return r.written(n, path)
}

func (r *reader) variableName(n *node, path, name string) bool {
	switch {
	case !envName().MatchString(name):
		r.add(n.at, "letters, digits and underscores, not a digit first", "%s: %s cannot name a variable", path, quote(name))
	case strings.HasPrefix(name, "SETT_"), name == "REDIS_URL":
		r.add(n.at, "choose another name", "%s: %s is Sett's own", path, quote(name))
	default:
		return true
	}
	return false
}

// references checks the references of a value to variables of the host.
func (r *reader) references(n *node, path, value string) bool {
	if _, err := parseTemplate(value); err != nil {
		r.add(n.at, "as in ${NAME}, ${NAME:-default} or ${NAME:?message}; $$ is a dollar", "%s: %v", path, err)
		return false
	}
	return true
}

// buildArgs has compose's two forms: a mapping, or a list of NAME=value.
func (r *reader) buildArgs(into *map[string]string) part {
	return part{
		read: func(n *node, path string) { r.readBuildArgs(n, path, into) },
		shape: func() *schema {
			return &schema{AnyOf: []*schema{
				{Type: kinds{"array"}, Unique: true, Items: &schema{Type: kinds{"string"}, Pattern: `^[A-Za-z_][A-Za-z0-9_]*=`}},
				{Type: kinds{"object", "null"}, PropertyNames: &schema{Pattern: envName().String()},
					Additional: &schema{Type: scalars()}},
			}}
		},
		write: func() any {
			if len(*into) == 0 {
				return nil
			}
			return *into
		},
	}
}

func (r *reader) readBuildArgs(n *node, path string, into *map[string]string) {
	args := map[string]string{}
	if n.kind == list {
		r.argList(n, path, args)
	} else {
		for _, e := range r.mapping(n, path) {
			at := join(path, e.key.text)
			if s, ok := r.written(e.value, at); ok && r.argName(e.key, path, e.key.text) && r.references(e.value, at, s) {
				args[e.key.text] = s
			}
		}
	}
	if len(args) > 0 {
		*into = args
	}
}

func (r *reader) argList(n *node, path string, args map[string]string) {
	for i, item := range n.items {
		s, ok := r.variable(item, fmt.Sprintf("%s[%d]", path, i))
		if !ok {
			continue
		}
		name, value, given := strings.Cut(s, "=")
		_, twice := args[name]
		switch {
		case !given:
			r.add(item.at, "write NAME=value", "%s: %s has no value", path, quote(name))
		case twice:
			r.add(item.at, "keep one of them", "%s sets %s twice", path, quote(name))
		case r.argName(item, path, name) && r.references(item, join(path, name), value):
			args[name] = value
		}
	}
}

func (r *reader) argName(n *node, path, name string) bool {
	if envName().MatchString(name) {
		return true
	}
	r.add(n.at, "letters, digits and underscores, not a digit first", "%s: %s cannot name an argument", path, quote(name))
	return false
}

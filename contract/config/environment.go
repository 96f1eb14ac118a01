package config

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// envName is what POSIX calls a name.
var envName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// environment has either form: a list of NAME and NAME=value, or a mapping of
// names to values in which nothing means inherited.
func (d *decoder) environment(into *[]EnvVar) part {
	return part{
		read:  func(n *node, path string) { d.readEnvironment(n, path, into) },
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

func (d *decoder) readEnvironment(n *node, path string, into *[]EnvVar) {
	first := map[string]*node{}
	add := func(at *node, v EnvVar) {
		if before := first[v.Name]; before != nil {
			d.add(at.at, fmt.Sprintf("it is first in line %d; keep one of them", before.at.line),
				"%s sets %s twice", path, quote(v.Name))
			return
		}
		first[v.Name] = at
		if d.variableName(at, path, v.Name) {
			*into = append(*into, v)
		}
	}
	if n.kind != list {
		for _, e := range d.mapping(n, path) {
			v := EnvVar{Name: e.key.text, Inherit: e.value.kind == nothing}
			ok := v.Inherit
			if !ok {
				v.Value, ok = d.written(e.value, join(path, e.key.text))
			}
			if ok {
				add(e.key, v)
			}
		}
		return
	}
	for i, item := range n.items {
		s, ok := d.variable(item, fmt.Sprintf("%s[%d]", path, i))
		if !ok {
			continue
		}
		name, value, literal := strings.Cut(s, "=")
		add(item, EnvVar{Name: name, Value: value, Inherit: !literal})
	}
}

// variable reads an item of the list form.
func (d *decoder) variable(n *node, path string) (string, bool) {
	if n.kind == mapping && len(n.entries) == 1 {
		d.wrongType(n, path, text, "in a list, write "+n.entries[0].key.text+"=value, without the colon")
		return "", false
	}
	return d.written(n, path)
}

func (d *decoder) variableName(n *node, path, name string) bool {
	switch {
	case !envName().MatchString(name):
		d.add(n.at, "letters, digits and underscores, not a digit first", "%s: %s cannot name a variable", path, quote(name))
	case strings.HasPrefix(name, "SETT_"), name == "REDIS_URL":
		d.add(n.at, "choose another name", "%s: %s is Sett's own", path, quote(name))
	default:
		return true
	}
	return false
}

// buildArgs has compose's two forms: a mapping, or a list of NAME=value.
func (d *decoder) buildArgs(into *map[string]string) part {
	return part{
		read: func(n *node, path string) { d.readBuildArgs(n, path, into) },
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

func (d *decoder) readBuildArgs(n *node, path string, into *map[string]string) {
	args := map[string]string{}
	if n.kind == list {
		d.argList(n, path, args)
	} else {
		for _, e := range d.mapping(n, path) {
			if s, ok := d.written(e.value, join(path, e.key.text)); ok && d.argName(e.key, path, e.key.text) {
				args[e.key.text] = s
			}
		}
	}
	if len(args) > 0 {
		*into = args
	}
}

func (d *decoder) argList(n *node, path string, args map[string]string) {
	for i, item := range n.items {
		s, ok := d.variable(item, fmt.Sprintf("%s[%d]", path, i))
		if !ok {
			continue
		}
		name, value, given := strings.Cut(s, "=")
		_, twice := args[name]
		switch {
		case !given:
			d.add(item.at, "write NAME=value", "%s: %s has no value", path, quote(name))
		case twice:
			d.add(item.at, "keep one of them", "%s sets %s twice", path, quote(name))
		case d.argName(item, path, name):
			args[name] = value
		}
	}
}

func (d *decoder) argName(n *node, path, name string) bool {
	if envName().MatchString(name) {
		return true
	}
	d.add(n.at, "letters, digits and underscores, not a digit first", "%s: %s cannot name an argument", path, quote(name))
	return false
}

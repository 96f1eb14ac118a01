package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Values of variables may refer to variables of the host, as compose does: $NAME,
// ${NAME}, ${NAME:-default}, ${NAME:?message}, ${NAME:+other}, each also without the
// colon, and $$ for a dollar. A default, message or other text may have references
// itself. A dollar before anything else is a dollar.

// template is a text with references to variables of the host.
type template []piece

// piece is a literal text, or a reference if it has a name.
type piece struct {
	literal string
	name    string
	op      string // "", "-", "?" or "+"
	empty   bool   // an empty variable counts as one that is not set: the operator has a colon
	word    template
}

// parseTemplate reads a value.
func parseTemplate(s string) (template, error) {
	p := templateParser{rest: s}
	return p.until(false)
}

type templateParser struct{ rest string }

// until reads pieces to the end of the text, or up to the brace that ends a reference.
func (p *templateParser) until(brace bool) (template, error) {
	var t template
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			t = append(t, piece{literal: literal.String()})
			literal.Reset()
		}
	}
	for {
		stops := "$"
		if brace {
			stops = "$}"
		}
		at := strings.IndexAny(p.rest, stops)
		if at < 0 {
			if brace {
				return nil, errOpen
			}
			literal.WriteString(p.rest)
			p.rest = ""
			flush()
			return t, nil
		}
		literal.WriteString(p.rest[:at])
		p.rest = p.rest[at:]
		if p.rest[0] == '}' {
			flush()
			return t, nil // the caller takes the brace
		}
		ref, text, err := p.dollar()
		if err != nil {
			return nil, err
		}
		literal.WriteString(text)
		if ref.name != "" {
			flush()
			t = append(t, ref)
		}
	}
}

// errOpen is the error of a reference without an end.
var errOpen = errors.New("${ without }")

// dollar reads what begins with a dollar: a reference, or a literal text.
func (p *templateParser) dollar() (ref piece, literal string, err error) {
	rest := p.rest[1:]
	switch {
	case strings.HasPrefix(rest, "$"):
		p.rest = rest[1:]
		return ref, "$", nil
	case strings.HasPrefix(rest, "{"):
		p.rest = rest[1:]
		ref, err = p.braced()
		return ref, "", err
	}
	ref.name = nameAhead(rest)
	p.rest = rest[len(ref.name):]
	if ref.name == "" {
		return ref, "$", nil
	}
	return ref, "", nil
}

// braced reads a reference after its opening brace.
func (p *templateParser) braced() (ref piece, err error) {
	ref.name = nameAhead(p.rest)
	if ref.name == "" {
		return ref, errors.New("${ without the name of a variable")
	}
	p.rest = p.rest[len(ref.name):]
	after, colon := strings.CutPrefix(p.rest, ":")
	if strings.IndexAny(after, "-?+") == 0 {
		ref.op, ref.empty, p.rest = after[:1], colon, after[1:]
		if ref.word, err = p.until(true); err != nil {
			return ref, err
		}
	}
	switch {
	case p.rest == "":
		return ref, errOpen
	case p.rest[0] != '}':
		return ref, fmt.Errorf("${%s is followed by %s", ref.name, quote(p.rest[:1]))
	}
	p.rest = p.rest[1:]
	return ref, nil
}

// nameAhead is the name of a variable with which a text begins, or "".
func nameAhead(s string) string {
	if end := strings.IndexFunc(s, func(r rune) bool { return !inName(r) }); end >= 0 {
		s = s[:end]
	}
	if !envName().MatchString(s) {
		return ""
	}
	return s
}

func inName(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// expand puts values in place of references. It calls missing with each variable that has
// no value where the text wants one; an empty text takes its place.
func (t template) expand(lookup func(string) (string, bool), missing func(name string)) (string, error) {
	var out strings.Builder
	for _, p := range t {
		s, err := p.expand(lookup, missing)
		if err != nil {
			return "", err
		}
		out.WriteString(s)
	}
	return out.String(), nil
}

func (p piece) expand(lookup func(string) (string, bool), missing func(name string)) (string, error) {
	if p.name == "" {
		return p.literal, nil
	}
	value, set := lookup(p.name)
	set = set && (value != "" || !p.empty)
	switch {
	case p.op == "+" && !set:
		return "", nil
	case p.op == "+", p.op == "-" && !set:
		return p.word.expand(lookup, missing)
	case p.op == "?" && !set:
		why, err := p.word.expand(lookup, missing)
		if err == nil {
			err = &RequiredError{p.name, why}
		}
		return "", err
	case !set:
		missing(p.name)
	}
	return value, nil
}

// RequiredError is the error of a variable that a value of sett.yml requires by
// ${NAME:?message}.
type RequiredError struct{ Name, Message string }

func (e *RequiredError) Error() string {
	if e.Message == "" {
		return e.Name + " is not set"
	}
	return e.Name + " is not set: " + e.Message
}

// names adds the variables that a value may need.
func (t template) names(all []string) []string {
	for _, p := range t {
		if p.name != "" {
			all = p.word.names(append(all, p.name))
		}
	}
	return all
}

// bare says whether a text is references alone, so that it gives no value away.
func (t template) bare() bool {
	return !slices.ContainsFunc(t, func(p piece) bool { return p.name == "" || len(p.word) > 0 && p.op != "?" })
}

// template returns the value's parts; a value that Parse would refuse is literal.
func (v EnvVar) template() template {
	t, err := parseTemplate(v.Value)
	if err != nil {
		return template{{literal: v.Value}}
	}
	return t
}

// Uses returns the variables of the host that a variable may take a value from, sorted.
func (v EnvVar) Uses() []string {
	if v.Inherit {
		return []string{v.Name}
	}
	return slices.Compact(slices.Sorted(slices.Values(v.template().names(nil))))
}

// Environ returns variables with their values, as NAME=value. The unset ones are sentences
// about the variables of the host that are wanted and not set. Only a variable
// that is required makes an error.
func Environ(vars []EnvVar, lookup func(string) (string, bool)) (environ, unset []string, err error) {
	for _, v := range vars {
		if v.Inherit {
			if value, set := lookup(v.Name); set {
				environ = append(environ, v.Name+"="+value)
			} else {
				unset = append(unset, fmt.Sprintf("variable %s is not set here, so it will not be there either", v.Name))
			}
			continue
		}
		value, e := v.template().expand(lookup, func(name string) {
			unset = append(unset, fmt.Sprintf("variable %s: %s is not set here; an empty text takes its place", v.Name, name))
		})
		if e != nil {
			err = errors.Join(err, fmt.Errorf("variable %s: %w", v.Name, e))
			continue
		}
		environ = append(environ, v.Name+"="+value)
	}
	return environ, unset, err
}

// environments calls visit with each list of variables in the file, and the name of its
// program.
func (c *Config) environments(visit func(who string, vars []EnvVar)) {
	for _, a := range c.Agents {
		visit("agent "+a.Name, a.Environment)
	}
	if c.Notify != nil {
		visit("notify", c.Notify.Environment)
	}
	if c.Otel != nil {
		visit("otel", c.Otel.Headers)
	}
}

// Variables are the arguments of a build, by name. Their values refer to variables of the
// host as those of environment do.
func (b *Build) Variables() (all []EnvVar) {
	if b == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(b.Args)) {
		all = append(all, EnvVar{Name: name, Value: b.Args[name]})
	}
	return all
}

// Values returns the arguments of a build with their values. The unset ones are sentences
// about variables of the host. Only a variable that is required makes an error.
func (b *Build) Values(lookup func(string) (string, bool)) (args map[string]string, unset []string, err error) {
	environ, unset, err := Environ(b.Variables(), lookup)
	args = make(map[string]string, len(environ))
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		args[name] = value
	}
	return args, unset, err
}

// HostValues returns the values of the variables of the host that programs get, by name.
// The unset ones are sentences for people, also about the arguments of builds, whose
// values no program gets. The error names variables that are required and not set.
func (c *Config) HostValues(lookup func(string) (string, bool)) (values map[string]string, unset []string, err error) {
	values = map[string]string{}
	note := func(who string, without []string, e error) {
		for _, sentence := range without {
			unset = append(unset, who+": "+sentence)
		}
		if e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", who, e))
		}
	}
	c.environments(func(who string, vars []EnvVar) {
		for _, v := range vars {
			for _, name := range v.Uses() {
				if value, set := lookup(name); set {
					values[name] = value
				}
			}
		}
		_, without, e := Environ(vars, lookup)
		note(who, without, e)
	})
	for _, a := range c.Agents {
		if c.Runtime == RuntimeDocker { // else nothing is built
			_, without, e := a.Build.Values(lookup)
			note("agent "+a.Name+": build.args", without, e)
		}
	}
	return values, unset, err
}

// Interpolates says whether a value refers to a variable of the host, or has $$. An older
// sett took such values as they are.
func (c *Config) Interpolates() (some bool) {
	look := func(_ string, vars []EnvVar) {
		for _, v := range vars {
			t := v.template()
			some = some || len(t.names(nil)) > 0 || len(t) > 0 && t[0].literal != v.Value
		}
	}
	c.environments(look)
	for _, a := range c.Agents {
		look("", a.Build.Variables())
	}
	return some
}

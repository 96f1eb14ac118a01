package config

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// schema is a JSON Schema, draft 2020-12, as far as sett.yml needs one.
type schema struct {
	Dialect       string    `json:"$schema,omitempty"`
	Title         string    `json:"title,omitempty"`
	Description   string    `json:"description,omitempty"`
	Type          kinds     `json:"type,omitempty"`
	Const         any       `json:"const,omitempty"`
	Enum          []any     `json:"enum,omitempty"`
	Default       any       `json:"default,omitempty"`
	Examples      []any     `json:"examples,omitempty"`
	Pattern       string    `json:"pattern,omitempty"`
	MaxLength     int       `json:"maxLength,omitempty"`
	Minimum       *int      `json:"minimum,omitempty"`
	Above         *int      `json:"exclusiveMinimum,omitempty"`
	Maximum       int       `json:"maximum,omitempty"`
	Below         int       `json:"exclusiveMaximum,omitempty"`
	PrefixItems   []*schema `json:"prefixItems,omitempty"`
	Items         *schema   `json:"items,omitempty"`
	MinItems      int       `json:"minItems,omitempty"`
	MaxItems      *int      `json:"maxItems,omitempty"`
	Contains      *schema   `json:"contains,omitempty"`
	Unique        bool      `json:"uniqueItems,omitempty"`
	Properties    pairs     `json:"properties,omitempty"`        // to *schema
	Patterns      pairs     `json:"patternProperties,omitempty"` // to *schema
	PropertyNames *schema   `json:"propertyNames,omitempty"`
	Additional    any       `json:"additionalProperties,omitempty"` // false or a *schema
	MinProperties int       `json:"minProperties,omitempty"`
	Required      []string  `json:"required,omitempty"`
	AllOf         []*schema `json:"allOf,omitempty"`
	AnyOf         []*schema `json:"anyOf,omitempty"`
	Not           *schema   `json:"not,omitempty"`
	If            *schema   `json:"if,omitempty"`
	Then          *schema   `json:"then,omitempty"`
	Else          *schema   `json:"else,omitempty"`
}

// kinds are types of JSON; one alone is written without a list.
type kinds []string

// MarshalJSON writes a text or a list of them.
func (k kinds) MarshalJSON() ([]byte, error) {
	if len(k) == 1 {
		return json.Marshal(k[0])
	}
	return json.Marshal([]string(k))
}

// Schema returns the JSON Schema of sett.yml, draft 2020-12, indented. Parse refuses
// every file that the schema refuses, and more, such as bad names. (YAML has a few
// spellings of numbers that a schema cannot tell apart.)
func Schema() []byte {
	d := newDecoder("", "")
	f := newFile()
	s := objectShape(d.fields(f))
	s.Dialect = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "sett.yml"
	s.Description = "The clan of a workspace and how Sett runs it."
	s.Required = []string{"agents"}
	s.AllOf = fileRules()
	text, err := plainJSON(s)
	var b bytes.Buffer
	if err == nil {
		err = json.Indent(&b, text, "", "  ")
	}
	if err != nil {
		panic("config: encode schema: " + err.Error()) // no value of its types can fail
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// objectShape is the schema of a mapping that object reads.
func objectShape(fields []field) *schema {
	s := &schema{Type: kinds{"object"}, Patterns: pairs{{"^" + extension, &schema{}}}, Additional: false}
	for _, f := range fields {
		p := f.shape()
		p.Description = f.doc
		s.Properties = append(s.Properties, pair{f.key, p})
	}
	return s
}

// orNothing lets a value be empty, like a section with all keys commented out.
func orNothing(s *schema) *schema {
	s.Type = append(s.Type, "null")
	return s
}

// places returns the sections of sett.yml that know a key, agents' as "agents.NAME",
// in the order of the schema; "" is the top level. Those of defaults are agents'.
func places() map[string][]string {
	d := newDecoder("", "")
	found := map[string][]string{}
	walk(objectShape(d.fields(newFile())), "", func(path string, s *schema) {
		if path == "defaults" || strings.HasPrefix(path, "defaults.") {
			return
		}
		for _, p := range s.Properties {
			found[p.key] = append(found[p.key], path)
		}
	})
	return found
}

// walk visits a schema and the schemas within it.
func walk(s *schema, path string, visit func(path string, s *schema)) {
	visit(path, s)
	for _, p := range s.Properties {
		walk(p.value.(*schema), join(path, p.key), visit)
	}
	if named, ok := s.Additional.(*schema); ok && len(named.Properties) > 0 {
		walk(named, join(path, "NAME"), visit)
	}
	for _, form := range s.AnyOf {
		walk(form, path, visit)
	}
}

// elsewhere is the hint for a key that other sections have, or "".
func (r *reader) elsewhere(key string) string {
	if r.places == nil {
		r.places = places()
	}
	known := slices.Clone(r.places[key])
	for i, path := range known {
		if known[i] = "under " + path + ":"; path == "" {
			known[i] = "to the top level of the file"
		}
	}
	switch last := len(known) - 1; {
	case last < 0:
		return ""
	case last == 0:
		return "it belongs " + known[0]
	default:
		return "it belongs " + strings.Join(known[:last], ", ") + " or " + known[last]
	}
}

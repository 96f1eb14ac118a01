package config

// part is a value of sett.yml, bound to its variable, with its reading, its schema and
// its writing. One list of fields has all of a key, so that the decoder, the schema
// and the output of `sett config` cannot differ.
type part struct {
	read  func(n *node, path string) // the path names the node in messages
	shape func() *schema             // the values that read accepts, as far as a schema can say it
	write func() any                 // for encoding/json; nil: no value and no default
}

// field is a key that a mapping may have.
type field struct {
	key string
	doc string // its meaning, for the schema; one sentence or two
	part
}

// extension begins keys that Sett ignores, as compose does: places for anchors, and for
// other programs.
const extension = "x-"

// need is a required key, with the hint for its absence.
type need struct{ key, hint string }

// section is a mapping with a fixed set of keys.
func (r *reader) section(fields ...field) part {
	return part{
		read:  func(n *node, path string) { r.object(n, path, fields...) },
		shape: func() *schema { return orNothing(objectShape(fields)) },
		write: func() any { return writeFields(fields) },
	}
}

// optional is a section that may be absent as a whole. Fields are the fields of a
// value, and fresh makes that value. A section that exists must have the needed keys.
func optional[T any](r *reader, into **T, fresh func() T, fields func(*T) []field, needed ...need) part {
	return part{
		read: func(n *node, path string) {
			if n.kind == nothing {
				return
			}
			v := fresh()
			keys := r.object(n, path, fields(&v)...)
			for _, need := range needed {
				if n.kind == mapping && keys[need.key] == nil {
					r.add(n.at, need.hint, "%s has no %s", path, need.key)
				}
			}
			*into = &v
		},
		shape: func() *schema {
			v := fresh()
			s := objectShape(fields(&v))
			for _, need := range needed {
				s.Required = append(s.Required, need.key)
			}
			return orNothing(s)
		},
		write: func() any {
			if *into == nil {
				return nil
			}
			return writeFields(fields(*into))
		},
	}
}

// writeFields returns a section as a mapping, in the order of its fields, without
// empty values; nil if all are empty.
func writeFields(fields []field) any {
	var m pairs
	for _, f := range fields {
		if v := f.write(); v != nil {
			m = append(m, pair{f.key, v})
		}
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

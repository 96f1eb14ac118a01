package config

// part is a value of sett.yml, bound to where it is kept: how it is read, what
// it may look like and how it is written. All that there is to know about a key
// is in the list of fields that has it, so that the decoder, the schema and what
// `sett config` prints cannot differ.
type part struct {
	read  func(n *node, path string) // the path names the node in messages
	shape func() *schema             // what read accepts, as far as a schema can say it
	write func() any                 // for encoding/json; nil: not given and without a default
}

// field is a key that a mapping may have.
type field struct {
	key string
	doc string // what it means, for the schema; one sentence or two
	part
}

// need is a key that must be there, and what to do if it is not.
type need struct{ key, hint string }

// section is a mapping with a fixed set of keys.
func (d *decoder) section(fields ...field) part {
	return part{
		read:  func(n *node, path string) { d.object(n, path, fields...) },
		shape: func() *schema { return orNothing(objectShape(fields)) },
		write: func() any { return writeFields(fields) },
	}
}

// optional is a section that may be absent as a whole. Fields are those of a
// value, which begins as fresh makes it. Where the section is, it must have the
// keys that are needed, each with the hint for who left it out.
func optional[T any](d *decoder, into **T, fresh func() T, fields func(*T) []field, needed ...need) part {
	return part{
		read: func(n *node, path string) {
			if n.kind == nothing {
				return
			}
			v := fresh()
			keys := d.object(n, path, fields(&v)...)
			for _, need := range needed {
				if n.kind == mapping && keys[need.key] == nil {
					d.add(n.at, need.hint, "%s has no %s", path, need.key)
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
// what is not given; nil if nothing is.
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

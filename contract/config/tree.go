package config

import "github.com/goccy/go-yaml/ast"

// kind is the kind of a node of the document.
type kind string

const (
	nothing kind = "nothing"
	text    kind = "text"
	integer kind = "a whole number"
	number  kind = "a number"
	boolean kind = "true or false"
	list    kind = "a list"
	mapping kind = "a mapping"
	broken  kind = "broken" // reported already; causes no further message
)

// node is a value in the document. Nodes are shared where aliases refer to them
// and never change once they are built.
type node struct {
	kind    kind
	at      position
	text    string  // of a scalar; of numbers and booleans as written
	items   []*node // of a list
	entries []entry // of a mapping, in file order, duplicates included
}

// entry is a key and its value in a mapping.
type entry struct {
	key   *node // a scalar
	value *node
}

// Limits against hostile files, which could cost minutes or the stack. No honest file
// comes near them.
const (
	MaxSource = 256 << 10 // bytes
	maxDepth  = 32        // levels of nesting
	maxMarks  = 10_000    // colons, dashes and brackets that give structure
	maxMerged = 20_000    // entries that << brings
)

// treeBuilder turns the library's syntax tree into nodes: aliases resolved,
// merge keys applied, tags honoured.
type treeBuilder struct {
	*reporter
	anchors map[string]*node
	merged  int // entries that << brought
}

// parseTree returns the document's root, or nil when there is none. It reports text
// that is not YAML.
func parseTree(r *reporter, source string) *node {
	file := parseYAML(r, source)
	if file == nil {
		return nil
	}
	b := &treeBuilder{reporter: r, anchors: map[string]*node{}}
	var root *node
	for _, doc := range file.Docs {
		if _, directive := doc.Body.(*ast.DirectiveNode); directive || doc.Body == nil {
			continue
		}
		if root != nil {
			r.add(startOf(doc.Body), "one file configures one instance", "a second document")
			break
		}
		root = b.node(doc.Body, 0)
	}
	return root
}

// node converts a value. It never returns nil.
func (b *treeBuilder) node(n ast.Node, depth int) *node {
	if n == nil {
		return &node{kind: nothing, at: position{1, 1}}
	}
	at := startOf(n)
	if depth > maxDepth {
		b.add(at, "", "nested more than %d levels deep", maxDepth)
		return &node{kind: broken, at: at}
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return b.mapping(at, n.Values, depth)
	case *ast.MappingValueNode:
		return b.mapping(at, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		result := &node{kind: list, at: at}
		for _, item := range n.Values {
			result.items = append(result.items, b.node(item, depth+1))
		}
		return result
	case *ast.AnchorNode:
		value := b.node(n.Value, depth+1)
		b.anchors[tokenText(n.Name)] = value
		return value
	case *ast.AliasNode:
		return b.alias(n, at)
	case *ast.TagNode:
		return b.tagged(n, depth)
	}
	return b.scalar(n, at)
}

func (b *treeBuilder) scalar(n ast.Node, at position) *node {
	result := &node{kind: text, at: at, text: tokenText(n)}
	switch n := n.(type) {
	case *ast.StringNode:
		result.text = n.Value
	case *ast.LiteralNode:
		result.text = ""
		if n.Value != nil {
			result.text = n.Value.Value
		}
	case *ast.IntegerNode:
		result.kind = integer
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		result.kind = number
	case *ast.BoolNode:
		result.kind = boolean
	case *ast.NullNode:
		result.kind = nothing
	default:
		b.add(at, "", "this kind of YAML is not understood here")
	}
	return result
}

func (b *treeBuilder) alias(n *ast.AliasNode, at position) *node {
	name := tokenText(n.Value)
	if target, found := b.anchors[name]; found {
		return target
	}
	b.add(at, "an alias stands after the end of what &"+name+" marks", "unknown alias %s", quote("*"+name))
	return &node{kind: broken, at: at}
}

// tagged honours the core schema's tags. Only !!str changes how a value reads.
func (b *treeBuilder) tagged(n *ast.TagNode, depth int) *node {
	value := b.node(n.Value, depth+1)
	tagged := *value
	// The library misplaces the text after a tag on its line.
	tagged.at = positionOf(n.GetToken())
	switch tag := tokenText(n); tag {
	case "!!str", "!":
		if value.kind == list || value.kind == mapping || value.kind == broken {
			break
		}
		tagged.kind = text
		if value.kind == nothing {
			tagged.text = ""
		}
	case "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq":
	default:
		b.add(tagged.at, "leave the tag out", "unknown tag %s", quote(tag))
	}
	return &tagged
}

func (b *treeBuilder) mapping(at position, values []*ast.MappingValueNode, depth int) *node {
	result := &node{kind: mapping, at: at}
	var merged []entry
	for _, v := range values {
		if v == nil || v.Key == nil {
			continue
		}
		if _, merge := v.Key.(*ast.MergeKeyNode); merge {
			merged = append(merged, b.merge(v, depth)...)
			continue
		}
		key := b.key(v.Key)
		value := b.node(v.Value, depth+1)
		if value.kind == nothing {
			// A forbidden value has no place; its key has one.
			value = &node{kind: nothing, at: key.at}
		}
		result.entries = append(result.entries, entry{key: key, value: value})
	}
	own := map[string]bool{}
	for _, e := range result.entries {
		own[e.key.text] = true
	}
	for _, e := range merged {
		if !own[e.key.text] {
			own[e.key.text] = true
			result.entries = append(result.entries, e)
		}
	}
	return result
}

func (b *treeBuilder) key(n ast.MapKeyNode) *node {
	at := startOf(n)
	if explicit, ok := n.(*ast.MappingKeyNode); ok && explicit.Value != nil {
		return b.plainKey(explicit.Value, at)
	}
	return b.plainKey(n, at)
}

func (b *treeBuilder) plainKey(n ast.Node, at position) *node {
	switch k := n.(type) {
	case *ast.StringNode:
		return &node{kind: text, at: at, text: k.Value}
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		return &node{kind: text, at: at, text: tokenText(n)}
	}
	b.add(at, "keys are plain words", "this cannot be a key")
	return &node{kind: text, at: at}
}

// merge returns the entries of <<: the entries of a mapping, or of a list of
// mappings, where the first wins.
func (b *treeBuilder) merge(v *ast.MappingValueNode, depth int) []entry {
	value := b.node(v.Value, depth+1)
	sources := []*node{value}
	if value.kind == list {
		sources = value.items
	}
	var entries []entry
	for _, source := range sources {
		if source.kind == broken {
			continue
		}
		if source.kind != mapping {
			b.add(startOf(v.Key), "write: <<: *NAME, where &NAME marks a mapping", "<< wants a mapping, not %s", source.kind)
			continue
		}
		if b.merged > maxMerged {
			return nil
		}
		if b.merged += len(source.entries); b.merged > maxMerged {
			b.add(startOf(v.Key), "", "<< brings more than %d entries in all", maxMerged)
			return nil
		}
		entries = append(entries, source.entries...)
	}
	return entries
}

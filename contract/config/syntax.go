package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// parseYAML returns the library's syntax tree. For text that is not YAML it reports a
// problem and returns nil. Some broken input makes the library panic; for the user
// that is a syntax error like any other.
func parseYAML(r *reporter, source string) (file *ast.File) {
	defer func() {
		if p := recover(); p != nil {
			file = nil
			reportSyntax(r, fmt.Errorf("the YAML parser gave up: %v", p))
		}
	}()
	tokens := lexer.Tokenize(source)
	if at, fault := outsized(tokens); fault != "" {
		r.add(at, "", "%s", fault)
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		reportSyntax(r, err)
		return nil
	}
	return file
}

// outsized looks for structure that would take the parser too long: its time grows
// with the square of the size.
func outsized(tokens token.Tokens) (position, string) {
	depth, marks := 0, 0
	for _, tk := range tokens {
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
			marks++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.MappingValueType, token.SequenceEntryType:
			marks++
		}
		if depth > maxDepth {
			return positionOf(tk), fmt.Sprintf("nested more than %d levels deep", maxDepth)
		}
		if marks > maxMarks {
			return positionOf(tk), fmt.Sprintf("more than %d keys and list items", maxMarks)
		}
	}
	return position{}, ""
}

func reportSyntax(r *reporter, err error) {
	if i := slices.IndexFunc(r.lines, func(line string) bool { return strings.HasPrefix(line, "<<<<<<< ") }); i >= 0 {
		r.add(position{i + 1, 1}, "git diff shows both sides; keep one of them", "a merge conflict that nobody has settled")
		return
	}
	message, at := err.Error(), position{1, 1}
	var syntax yaml.Error
	if errors.As(err, &syntax) {
		message = syntax.GetMessage()
		if tk := syntax.GetToken(); tk != nil {
			at = positionOf(tk)
		}
	}
	if strings.Contains(message, "'\t'") { // which prints as a space
		message = "a tab where spaces belong"
	}
	hint := "what follows was not checked"
	if at.line <= len(r.lines) && strings.Contains(r.lines[max(at.line, 1)-1], "\t") {
		hint = "YAML wants spaces, not tabs, for indentation"
	}
	r.add(at, hint, "not YAML: %s", message)
}

func positionOf(tk *token.Token) position {
	if tk == nil || tk.Position == nil {
		return position{1, 1}
	}
	return position{tk.Position.Line, tk.Position.Column}
}

// startOf returns the beginning of a node. The library places a block mapping at its
// first colon.
func startOf(n ast.Node) position {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return startOf(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return startOf(n.Key)
	case *ast.MappingKeyNode:
		if n.Value != nil {
			return startOf(n.Value)
		}
	}
	return positionOf(n.GetToken())
}

// tokenText returns a scalar as written. The library's own formatting panics on some
// nodes.
func tokenText(n ast.Node) string {
	if n == nil {
		return ""
	}
	if tk := n.GetToken(); tk != nil {
		return tk.Value
	}
	return ""
}

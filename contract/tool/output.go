package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"sett/blackboard"
	"sett/contract/spelling"
)

// MaxTypeLength is the longest artefact type of a tool, in bytes.
const MaxTypeLength = 128

// Output is the result of a tool, with defaults filled in.
type Output struct {
	StructuralType blackboard.StructuralType // Standard when the tool named none
	Type           string                    // never empty
	Payload        string                    // may be empty
	Summary        string                    // may be empty
	Metadata       json.RawMessage           // a compact JSON object, or nil
	Commit         string                    // the hash of the commit that the result is, or is about; may be empty
	Rebased        bool                      // the commit need not build on the tree's start
}

// Changes in place of a commit's hash stands for a commit of everything that the tool
// changed in its tree, which the repository makes. Without changes there is none.
const Changes = "changes"

// The known fields. All other fields of the object are ignored.
const (
	fieldStructuralType = "structural_type"
	fieldType           = "artefact_type"
	fieldPayload        = "artefact_payload"
	fieldShortPayload   = "payload" // of the Question form
	fieldSummary        = "summary"
	fieldMetadata       = "metadata"
	fieldCommit         = "commit"
	fieldRebased        = "rebased"
)

// ParseOutput reads a tool's whole stdout: exactly one JSON object, with any white
// space around it, in one of the two forms of agent-pup.md section 7:
//
//	{"artefact_type", "artefact_payload", "summary", "structural_type"?, "metadata"?, "commit"?, "rebased"?}
//	{"structural_type", "payload", "artefact_type"?, "summary"?, "metadata"?, "commit"?, "rebased"?}
//
// A payload that is not a string is kept as compact JSON. Field names are case
// sensitive. null counts as absent, because jq prints null for a missing path.
// artefact_type is optional with structural_type Review, Question, Answer and
// Failure. A known field may not occur twice: one of two payloads would be lost in
// silence. An unpaired surrogate escape in a string becomes U+FFFD. All errors are
// *ParseError.
func ParseOutput(stdout []byte) (Output, error) { return parseOutput(stdout, blackboard.Standard) }

// parseOutput is ParseOutput where a result without structural_type is of this one.
func parseOutput(stdout []byte, unnamed blackboard.StructuralType) (Output, error) {
	object, err := soleObject(stdout)
	if err != nil {
		return Output{}, err
	}
	fields, foreign, err := readFields(object)
	if err != nil {
		return Output{}, err
	}
	var out Output
	if out.StructuralType, err = structuralType(fields, unnamed); err != nil {
		return Output{}, err
	}
	if out.Type, err = artefactType(fields, out.StructuralType, foreign); err != nil {
		return Output{}, err
	}
	if out.Payload, err = payload(fields, foreign); err != nil {
		return Output{}, err
	}
	if out.Summary, _, err = stringField(fields, fieldSummary); err != nil {
		return Output{}, err
	}
	if out.Metadata, err = metadata(fields); err != nil {
		return Output{}, err
	}
	if out.Commit, err = commit(fields); err != nil {
		return Output{}, err
	}
	if out.Rebased, err = boolean(fields, fieldRebased); err != nil {
		return Output{}, err
	}
	return out, nil
}

// commit returns the hash beside the payload. An empty one, as of a shell's variable that
// was never set, is an error: the tool believes that there is a commit.
func commit(fields map[string]json.RawMessage) (string, error) {
	hash, ok, err := stringField(fields, fieldCommit)
	if hash = strings.TrimSpace(hash); err == nil && ok && hash == "" {
		err = fieldError("field %q is empty (leave it out, or null, without a commit)", fieldCommit)
	}
	return hash, err
}

// soleObject checks that stdout is one JSON object, and returns the object's text.
func soleObject(stdout []byte) ([]byte, error) {
	text := bytes.TrimLeft(stdout, " \t\r\n")
	lead := len(stdout) - len(text)
	if len(text) == 0 {
		return nil, &ParseError{Reason: "stdout is empty, expected one JSON object", Offset: -1}
	}
	if i := invalidUTF8(stdout); i >= 0 {
		return nil, parseErrorAt(stdout, i, "stdout is not valid UTF-8")
	}
	if text[0] != '{' {
		return nil, parseErrorAt(stdout, lead, "found %s where a JSON object should begin (messages belong on stderr)", kind(text[0]))
	}
	var object json.RawMessage
	err := json.Unmarshal(text, &object)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return object, nil
	case !errors.As(err, &syntax):
		return nil, parseErrorAt(stdout, lead, "%v", err)
	case syntax.Offset >= int64(len(text)) && strings.Contains(syntax.Error(), "unexpected end"):
		return nil, parseErrorAt(stdout, len(stdout), "the JSON object breaks off at the end of stdout")
	}
	at := lead + int(syntax.Offset) - 1
	if strings.Contains(syntax.Error(), "after top-level value") {
		return nil, parseErrorAt(stdout, at, "something follows the JSON object, expected exactly one (messages belong on stderr)")
	}
	return nil, parseErrorAt(stdout, at, "%v", syntax)
}

// readFields returns the known fields that are not null, and the names of all others. object is valid JSON.
func readFields(object []byte) (fields map[string]json.RawMessage, foreign []string, err error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil { // the opening brace
		return nil, nil, &ParseError{Reason: err.Error(), Offset: -1}
	}
	fields = make(map[string]json.RawMessage, 8)
	seen := make(map[string]bool, 8)
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, nil, &ParseError{Reason: err.Error(), Offset: -1}
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, nil, &ParseError{Reason: err.Error(), Offset: -1}
		}
		name, _ := key.(string)
		switch name {
		case fieldStructuralType, fieldType, fieldPayload, fieldShortPayload, fieldSummary, fieldMetadata, fieldCommit, fieldRebased:
		default:
			foreign = append(foreign, name)
			continue
		}
		if seen[name] {
			return nil, nil, fieldError("field %q occurs twice", name)
		}
		seen[name] = true
		if string(value) != "null" {
			fields[name] = value
		}
	}
	return fields, foreign, nil
}

// missing is the error of a field that is not there. It names the unknown field that may be meant by it.
func missing(field string, foreign []string) error {
	for _, name := range foreign {
		if spelling.Nearest(name, []string{field}) != "" {
			return fieldError("field %q is missing, did you mean it by %s?", field, excerpt(name))
		}
	}
	return fieldError("field %q is missing", field)
}

func structuralType(fields map[string]json.RawMessage, unnamed blackboard.StructuralType) (blackboard.StructuralType, error) {
	name, ok, err := stringField(fields, fieldStructuralType)
	if err != nil {
		return "", err
	}
	if !ok {
		return unnamed, nil
	}
	st := blackboard.StructuralType(name)
	if !st.Valid() {
		return "", fieldError("%s is %s, %s", fieldStructuralType, excerpt(name), oneOf(name, blackboard.StructuralTypes))
	}
	return st, nil
}

func artefactType(fields map[string]json.RawMessage, st blackboard.StructuralType, foreign []string) (string, error) {
	name, ok, err := stringField(fields, fieldType)
	if err != nil {
		return "", err
	}
	if !ok {
		switch st {
		case blackboard.Failure:
			return blackboard.TypeToolExecutionFailure, nil
		case blackboard.Review, blackboard.Question, blackboard.Answer:
			return string(st), nil
		}
		return "", missing(fieldType, foreign)
	}
	if strings.TrimSpace(name) == "" {
		return "", fieldError("field %q is empty", fieldType)
	}
	if len(name) > MaxTypeLength {
		return "", fieldError("%s is %d bytes long, at most %d are allowed", fieldType, len(name), MaxTypeLength)
	}
	if strings.ContainsFunc(name, unicode.IsControl) {
		return "", fieldError("%s %s contains a control character", fieldType, excerpt(name))
	}
	return name, nil
}

// payload returns artefact_payload, else payload where the form allows it.
func payload(fields map[string]json.RawMessage, foreign []string) (string, error) {
	value, ok := fields[fieldPayload]
	if !ok {
		value, ok = fields[fieldShortPayload]
		if _, form := fields[fieldStructuralType]; ok && !form {
			return "", fieldError("field %q is missing (%q is read only beside %q)",
				fieldPayload, fieldShortPayload, fieldStructuralType)
		}
	}
	if !ok {
		return "", missing(fieldPayload, foreign)
	}
	if value[0] == '"' {
		return decodeString(value)
	}
	return compact(value)
}

func metadata(fields map[string]json.RawMessage) (json.RawMessage, error) {
	value, ok := fields[fieldMetadata]
	if !ok {
		return nil, nil
	}
	if value[0] != '{' {
		return nil, fieldError("%s is %s, expected an object", fieldMetadata, kind(value[0]))
	}
	text, err := compact(value)
	return json.RawMessage(text), err
}

// stringField returns a string field; false means that there is none.
func stringField(fields map[string]json.RawMessage, name string) (string, bool, error) {
	value, ok := fields[name]
	if !ok {
		return "", false, nil
	}
	if value[0] != '"' {
		return "", false, fieldError("%s is %s, expected a string", name, kind(value[0]))
	}
	s, err := decodeString(value)
	return s, true, err
}

// boolean returns a field that is true or false; without one it is false.
func boolean(fields map[string]json.RawMessage, name string) (bool, error) {
	switch value := fields[name]; string(value) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, fieldError("%s is %s, expected true or false", name, kind(value[0]))
	}
}

func decodeString(value json.RawMessage) (string, error) {
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return "", &ParseError{Reason: err.Error(), Offset: -1}
	}
	return s, nil
}

func compact(value json.RawMessage) (string, error) {
	var buf bytes.Buffer
	if err := json.Compact(&buf, value); err != nil {
		return "", &ParseError{Reason: err.Error(), Offset: -1}
	}
	return buf.String(), nil
}

// kind names the JSON value that begins with c.
func kind(c byte) string {
	switch {
	case c == '{':
		return "an object"
	case c == '[':
		return "an array"
	case c == '"':
		return "a string"
	case c == '-' || '0' <= c && c <= '9':
		return "a number"
	case c == 't' || c == 'f' || c == 'n':
		return "a word"
	}
	return "text"
}

// invalidUTF8 returns the place of the first byte that is not UTF-8, or -1.
func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

func fieldError(format string, args ...any) error {
	return &ParseError{Reason: fmt.Sprintf(format, args...), Offset: -1}
}

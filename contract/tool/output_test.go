package tool

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"sett/blackboard"
)

func TestParseOutput(t *testing.T) {
	for _, c := range []struct {
		name, stdout string
		want         Output
	}{
		{"standard form", `{"artefact_type":"CodeCommit","artefact_payload":"f4be2d6","summary":"done"}`,
			Output{StructuralType: "Standard", Type: "CodeCommit", Payload: "f4be2d6", Summary: "done"}},
		{"question form", `{"structural_type":"Question","payload":"null or not?"}`,
			Output{StructuralType: "Question", Type: "Question", Payload: "null or not?"}},
		{"white space around", " \r\n\t{\"artefact_type\":\"A\",\"artefact_payload\":\"\"}\n\n",
			Output{StructuralType: "Standard", Type: "A"}},
		{"review", `{"structural_type":"Review","artefact_payload":{ }}`,
			Output{StructuralType: "Review", Type: "Review", Payload: "{}"}},
		{"failure", `{"structural_type":"Failure","artefact_payload":"no"}`,
			Output{StructuralType: "Failure", Type: "ToolExecutionFailure", Payload: "no"}},
		{"answer", `{"structural_type":"Answer","payload":"yes"}`, Output{StructuralType: "Answer", Type: "Answer", Payload: "yes"}},
		{"terminal", `{"structural_type":"Terminal","artefact_type":"Release","payload":"1.0"}`,
			Output{StructuralType: "Terminal", Type: "Release", Payload: "1.0"}},
		{"artefact_payload before payload", `{"structural_type":"Review","artefact_payload":"a","payload":"b"}`,
			Output{StructuralType: "Review", Type: "Review", Payload: "a"}},
		{"payload beside an artefact_payload", `{"artefact_type":"A","artefact_payload":"a","payload":7}`,
			Output{StructuralType: "Standard", Type: "A", Payload: "a"}},
		{"array payload", "{\"artefact_type\":\"A\",\"artefact_payload\":[ 1.50 , {\"b\" : null} ]}",
			Output{StructuralType: "Standard", Type: "A", Payload: `[1.50,{"b":null}]`}},
		{"number payload", `{"artefact_type":"A","artefact_payload":12345678901234567890}`,
			Output{StructuralType: "Standard", Type: "A", Payload: "12345678901234567890"}},
		{"unknown fields, twice", `{"x":1,"x":2,"artefact_type":"A","artefact_payload":false,"Summary":"not this"}`,
			Output{StructuralType: "Standard", Type: "A", Payload: "false"}},
		{"nulls are absent", `{"structural_type":null,"artefact_type":"A","artefact_payload":"p","summary":null,"metadata":null}`,
			Output{StructuralType: "Standard", Type: "A", Payload: "p"}},
		{"commit", `{"artefact_type":"A","artefact_payload":"p","commit":" f4be2d6\n"}`,
			Output{StructuralType: "Standard", Type: "A", Payload: "p", Commit: "f4be2d6"}},
		{"rebased", `{"artefact_type":"A","artefact_payload":"p","commit":"f4be2d6","rebased":true}`,
			Output{StructuralType: "Standard", Type: "A", Payload: "p", Commit: "f4be2d6", Rebased: true}},
		{"not rebased", `{"artefact_type":"A","artefact_payload":"p","commit":"f4be2d6","rebased":false}`,
			Output{StructuralType: "Standard", Type: "A", Payload: "p", Commit: "f4be2d6"}},
		{"no word about rebasing", `{"artefact_type":"A","artefact_payload":"p","rebased":null}`, Output{StructuralType: "Standard", Type: "A", Payload: "p"}},
		{"no commit", `{"artefact_type":"A","artefact_payload":"p","commit":null}`, Output{StructuralType: "Standard", Type: "A", Payload: "p"}},
		{"metadata", `{"artefact_type":"A","artefact_payload":"p","metadata":{ "n" : [1, 2] }}`,
			Output{StructuralType: "Standard", Type: "A", Payload: "p", Metadata: json.RawMessage(`{"n":[1,2]}`)}},
		{"longest type", `{"artefact_type":"` + strings.Repeat("t", MaxTypeLength) + `","artefact_payload":"p"}`,
			Output{StructuralType: "Standard", Type: strings.Repeat("t", MaxTypeLength), Payload: "p"}},
		{"unpaired surrogate", `{"artefact_type":"A","artefact_payload":"\ud800"}`,
			Output{StructuralType: "Standard", Type: "A", Payload: "\ufffd"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseOutput([]byte(c.stdout))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestParseOutputRefuses(t *testing.T) {
	const valid = `{"artefact_type":"A","artefact_payload":"p"}`
	for _, c := range []struct {
		name, stdout, want string
		offset             int
	}{
		{"nothing", "", "stdout is empty, expected one JSON object", -1},
		{"only white space", " \n", "stdout is empty", -1},
		{"plain text", "  Building\x1b[1m...\n", `found text where a JSON object should begin (messages belong on stderr), at byte 2: "  Building\x1b[1m...\n"`, 2},
		{"array", "[" + valid + "]", "found an array", 0},
		{"string", `"done"`, "found a string", 0},
		{"number", "-1", "found a number", 0},
		{"null", "null", "found a word", 0},
		{"two objects", valid + "\n" + valid, "something follows the JSON object", len(valid) + 1},
		{"text after", valid + " ok", "something follows the JSON object", len(valid) + 1},
		{"text before", "log\n" + valid, "found text", 0},
		{"partial", `{"artefact_`, "breaks off at the end of stdout", 11},
		{"partial after a value", `{"artefact_type":"A",` + "\n", "breaks off", 22},
		{"trailing comma", `{"artefact_type":"A",}`, "invalid character '}'", 21},
		{"single quotes", `{'artefact_type':'A'}`, `invalid character '\''`, 1},
		{"raw newline in a string", "{\"artefact_type\":\"A\nB\"}", `invalid character '\n'`, 19},
		{"not UTF-8", "{\"artefact_type\":\"\xff\"}", "not valid UTF-8", 18},
		{"too deep", `{"a":` + strings.Repeat("[", 20000), "max depth", 10004},
		{"duplicate field", `{"artefact_type":"A","artefact_payload":"p","artefact_payload":"q"}`, `field "artefact_payload" occurs twice`, -1},
		{"empty commit", `{"artefact_type":"A","artefact_payload":"p","commit":" "}`, `field "commit" is empty (leave it out, or null, without a commit)`, -1},
		{"commit that is no string", `{"artefact_type":"A","artefact_payload":"p","commit":5}`, `commit is a number, expected a string`, -1},
		{"rebased that is a string", `{"artefact_type":"A","artefact_payload":"p","rebased":"true"}`, `rebased is a string, expected true or false`, -1},
		{"two commits", `{"artefact_type":"A","artefact_payload":"p","commit":"a","commit":"b"}`, `field "commit" occurs twice`, -1},
		{"no type", `{"artefact_payload":"p"}`, `field "artefact_type" is missing`, -1},
		{"misspelt type", `{"artifact_type":"A","artefact_payload":"p"}`, `field "artefact_type" is missing, did you mean it by "artifact_type"?`, -1},
		{"misspelt payload", `{"artefact_type":"A","colour":1,"artefact_paylod":"p"}`, `field "artefact_payload" is missing, did you mean it by "artefact_paylod"?`, -1},
		{"no type in Standard", `{"structural_type":"Standard","payload":"p"}`, `field "artefact_type" is missing`, -1},
		{"no type in Terminal", `{"structural_type":"Terminal","payload":"p"}`, `field "artefact_type" is missing`, -1},
		{"empty type", `{"artefact_type":"","artefact_payload":"p"}`, `field "artefact_type" is empty`, -1},
		{"blank type", `{"artefact_type":" ","artefact_payload":"p"}`, `field "artefact_type" is empty`, -1},
		{"type not a string", `{"artefact_type":["A"],"artefact_payload":"p"}`, "artefact_type is an array, expected a string", -1},
		{"long type", `{"artefact_type":"` + strings.Repeat("t", 129) + `","artefact_payload":"p"}`, "129 bytes long, at most 128", -1},
		{"control character", `{"artefact_type":"A\u0000","artefact_payload":"p"}`, `"A\x00" contains a control character`, -1},
		{"no payload", `{"artefact_type":"A"}`, `field "artefact_payload" is missing`, -1},
		{"null payload", `{"artefact_type":"A","artefact_payload":null}`, `field "artefact_payload" is missing`, -1},
		{"payload in the wrong form", `{"artefact_type":"A","payload":"p"}`, `("payload" is read only beside "structural_type")`, -1},
		{"structural case", `{"structural_type":"question","payload":"p"}`, `"question", did you mean "Question"?`, -1},
		{"structural slip", `{"structural_type":"Revew","payload":"p"}`, `did you mean "Review"?`, -1},
		{"structural nonsense", `{"structural_type":"` + strings.Repeat("é", 99) + `","payload":"p"}`, `…, expected one of Standard, Review`, -1},
		{"structural empty", `{"structural_type":"","payload":"p"}`, `structural_type is "", expected one of`, -1},
		{"structural not a string", `{"structural_type":1,"payload":"p"}`, "structural_type is a number", -1},
		{"summary not a string", `{"artefact_type":"A","artefact_payload":"p","summary":{}}`, "summary is an object, expected a string", -1},
		{"metadata not an object", `{"artefact_type":"A","artefact_payload":"p","metadata":"m"}`, "metadata is a string, expected an object", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := ParseOutput([]byte(c.stdout))
			var parse *ParseError
			if !errors.As(err, &parse) {
				t.Fatalf("got %+v, %v", out, err)
			}
			if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "parse tool output: ") {
				t.Errorf("error %q, want %q in it", err, c.want)
			}
			if parse.Offset != c.offset {
				t.Errorf("offset %d, want %d", parse.Offset, c.offset)
			}
			checkError(t, err)
		})
	}
}

// checkError holds what every error promises: one harmless line.
func checkError(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	if !utf8.ValidString(text) || len(text) > 600 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		t.Errorf("error is not one short harmless line: %q", text)
	}
	if got := FailureType(err); got != blackboard.TypeToolExecutionFailure {
		t.Errorf("failure type %s", got)
	}
}

func TestExcerptCutsBetweenCharacters(t *testing.T) {
	object := `{"artefact_type":"` + strings.Repeat("é", 40) + `",}` + strings.Repeat("€", 40)
	_, err := ParseOutput([]byte(object))
	if err == nil || strings.Contains(err.Error(), `\x`) || !strings.Contains(err.Error(), `: …"é`) || !strings.HasSuffix(err.Error(), `€"…`) {
		t.Errorf("error %v", err)
	}
}

// print writes an Output in the form that a tool would.
func (o Output) print(t testing.TB) []byte {
	t.Helper()
	m := map[string]any{"structural_type": o.StructuralType, "artefact_type": o.Type, "artefact_payload": o.Payload, "summary": o.Summary}
	if o.Metadata != nil {
		m["metadata"] = o.Metadata
	}
	b, err := encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func FuzzParseOutput(f *testing.F) {
	for _, s := range []string{
		"", "{}", "[]", `{"artefact_type":"A","artefact_payload":"p","summary":"s"}`, `{"structural_type":"Question","payload":"q"}`,
		`{"structural_type":"Review","artefact_payload":{"a":[1,2.0,null]},"metadata":{"x":"\u2028<"}}`, `{"artefact_`, "{}{}", "{\"a\":\"\xff\"}",
		`{"artefact_type":"\ud83d\ude00","artefact_payload":"\ud800","metadata":{"a":1,"a":2}}`, "\ufeff{}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, stdout []byte) {
		out, err := ParseOutput(stdout)
		if err != nil {
			var parse *ParseError
			if !errors.As(err, &parse) || parse.Offset > len(stdout) {
				t.Errorf("error %#v", err)
			}
			return
		}
		if out.Type == "" || !out.StructuralType.Valid() || !utf8.ValidString(out.Type+out.Payload+out.Summary) {
			t.Errorf("broken output %+v", out)
		}
		again, err := ParseOutput(out.print(t))
		if err != nil || !reflect.DeepEqual(again, out) {
			t.Errorf("got %+v, then %+v, %v", out, again, err)
		}
	})
}

package config

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sett/blackboard"
)

// validator returns the schema, compiled.
func validator(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft4) // the schema's own dialect must count
	if err := c.AddResource("sett.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("sett.json")
	if err != nil {
		t.Fatal(err)
	}
	if s.DraftVersion != 2020 {
		t.Fatalf("draft %d", s.DraftVersion)
	}
	return s
}

// TestSchemaGolden shows every change of the schema.
func TestSchemaGolden(t *testing.T) {
	const golden = "testdata/schema.golden.json"
	if *update {
		if err := os.WriteFile(golden, Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := Schema(); !bytes.Equal(got, want) {
		t.Errorf("differs from %s (go test -update rewrites it):\n%s", golden, got)
	}
}

// asValue returns a node as a validator sees it.
func asValue(n *node) any {
	switch n.kind {
	case text:
		return n.text
	case boolean:
		return strings.EqualFold(n.text, "true")
	case integer, number:
		if v, err := strconv.ParseInt(n.text, 0, 64); err == nil {
			return json.Number(strconv.FormatInt(v, 10))
		}
		if v, err := strconv.ParseFloat(n.text, 64); err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) {
			return json.Number(strconv.FormatFloat(v, 'f', -1, 64))
		}
		return n.text
	case list:
		all := make([]any, len(n.items))
		for i, item := range n.items {
			all[i] = asValue(item)
		}
		return all
	case mapping:
		all := map[string]any{}
		for _, e := range n.entries {
			all[e.key.text] = asValue(e.value)
		}
		return all
	}
	return nil
}

// treeOf returns a file's root and whether it is YAML without faults.
func treeOf(source string) (*node, bool) {
	r := newReporter("f", source)
	root := parseTree(r, source)
	return root, root != nil && len(r.problems) == 0
}

// beyondSchema are the faults that no schema can see: of YAML, of spelling, of
// one value that is measured by another.
var beyondSchema = []string{
	"duplicate key", "duplicate agent", "duplicate top key", // a mapping has each key once
	"replicas in hex",                                                    // the same number
	"role with control characters",                                       // what may be shown is Unicode's business
	"reserved role by name",                                              // a key's name as a value
	"reservation above limit",                                            // one number measured by another
	"pids too few", "pids too few for all slots", "pids shared, too few", // by the runtime and the number of slots
	"environment twice", "build argument twice", // a part of one text in another
	"redis CA without TLS", "redis password with a question mark", "redis parameter", // what follows the question mark
	"two redis servers",               // one text compared with another
	"command with NUL", "memory huge", // of a text's inside
	"timeout of ages",                                                                                                                                                                             // the size of a number with a unit
	"open reference", "open default", "reference to nothing", "reference by position", "reference with an unknown operator", "build argument's reference", "build argument's reference in a list", // a language within
	"header with a line's end", "header of Sett", "header twice", "base_url of one call", "ignore that is no pattern", // of a text's inside, too
	"llm misspelt", "llm with tools and no tree", "llm without a door", // one text compared with another
	"image and build in defaults", // the agent may have one of its own
}

// TestSchemaAgrees holds schema and decoder together on every file that the tests
// know: what Parse accepts the schema accepts, and what it refuses the schema
// refuses, as far as it can.
func TestSchemaAgrees(t *testing.T) {
	schema := validator(t)
	agreed, refused := map[string]bool{}, 0
	for name, source := range corpus(t) {
		_, fault := Parse(name, []byte(source))
		root, ok := treeOf(strings.TrimPrefix(source, "\uFEFF"))
		if !ok {
			continue
		}
		err := schema.Validate(asValue(root))
		switch {
		case fault == nil && err != nil:
			t.Errorf("%s: only the schema refuses it: %v", name, err)
		case fault != nil && err == nil && !slices.Contains(beyondSchema, name):
			t.Errorf("%s: only Parse refuses it: %v", name, fault)
		case fault != nil && err != nil:
			agreed[name] = true
			refused++
		}
	}
	for _, name := range beyondSchema {
		if agreed[name] {
			t.Errorf("%s: the schema sees it, after all", name)
		}
	}
	if refused < 80 {
		t.Errorf("only %d files refused by both", refused)
	}
}

// TestSchemaComplete: every key of the types is in the schema with a description,
// and nothing else is; the defaults are those that apply.
func TestSchemaComplete(t *testing.T) {
	d := newDecoder("", "")
	keys := map[string]bool{}
	walk(objectShape(d.fields(newFile())), "", func(path string, s *schema) {
		for _, p := range s.Properties {
			keys[p.key] = true
			if doc := p.value.(*schema).Description; !strings.HasSuffix(doc, ".") {
				t.Errorf("%s: description %q", join(path, p.key), doc)
			}
		}
	})
	want := map[string]bool{"defaults": true} // of no type: each agent has them
	keysOf(reflect.TypeFor[Config](), want)
	if !reflect.DeepEqual(keys, want) {
		t.Errorf("keys of the schema %v\nkeys of the types  %v", keys, want)
	}
	for _, c := range []struct{ path, want string }{
		{"runtime", `"docker"`}, {"agents.*.timeout", `"5m"`}, {"agents.*.replicas", "1"}, {"agents.*.read_only", "true"},
		{"agents.*.workspace.mode", `"ro"`}, {"agents.*.health_check.interval", `"30s"`}, {"orchestrator.question_timeout", `"0s"`},
		{"orchestrator.on_review_limit", `"fail"`}, {"redis.retries", "5"}, {"approve", "[]"}, {"notify.timeout", `"30s"`},
		{"services.redis.image", `"redis:7-alpine"`}, {"agents.*.role", "null"}, {"orchestrator.run", "null"},
		{"services.repository.image", `"alpine/git:v2.49.1"`},
	} {
		var at any
		if err := json.Unmarshal(Schema(), &at); err != nil {
			t.Fatal(err)
		}
		for key := range strings.SplitSeq(c.path, ".") {
			if key == "*" {
				at = at.(map[string]any)["additionalProperties"]
				continue
			}
			at = at.(map[string]any)["properties"].(map[string]any)[key]
		}
		if got, _ := json.Marshal(at.(map[string]any)["default"]); string(got) != c.want {
			t.Errorf("default of %s is %s, want %s", c.path, got, c.want)
		}
	}
}

// keysOf collects the keys that the types of sett.yml stand for.
func keysOf(of reflect.Type, keys map[string]bool) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice:
		keysOf(of.Elem(), keys)
		return
	case reflect.Struct:
	default:
		return
	}
	switch of { // words of the user's; what sett up finds out
	case reflect.TypeFor[BidRule](), reflect.TypeFor[EnvVar](), reflect.TypeFor[Resolved]():
		return
	}
	for i := range of.NumField() {
		f := of.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		named := f.Name == "Name" && (of == reflect.TypeFor[Agent]() || of == reflect.TypeFor[Model]())
		ours := key == "resolved" || f.Name == "Traced" || f.Type == reflect.TypeFor[OtelFacts]() || f.Type == reflect.TypeFor[ModelGatewayService]() || f.Type == reflect.TypeFor[ModelFacts]() || of == reflect.TypeFor[LLM]() && f.Name == "Shell" // run: shell
		if !named && !ours && !f.Anonymous {
			keys[key] = true
		}
		if f.Type == reflect.TypeFor[ModelFacts]() || f.Type == reflect.TypeFor[OtelFacts]() {
			continue
		}
		keysOf(f.Type, keys)
	}
}

// The schema spells out what the code asks of blackboard.
func TestSchemaKnowsReservedRoles(t *testing.T) {
	s := &schema{}
	roleName.shape(s)
	pattern := regexp.MustCompile(s.Not.Pattern)
	for _, role := range []string{blackboard.RoleUser, blackboard.RoleHuman, blackboard.RoleOrchestrator, "User", " HUMAN "} {
		if fault, _ := checkRoleName(role); fault == "" || !pattern.MatchString(role) {
			t.Errorf("%q: %q, and the schema says %v", role, fault, pattern.MatchString(role))
		}
	}
}

package config

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

// host is a machine with a few variables.
func host(name string) (string, bool) {
	v, ok := map[string]string{"NAME": "ann", "EMPTY": "", "DOLLAR": "$NAME", "A_1": "one"}[name]
	return v, ok
}

// literally writes a text so that it has no references.
func literally(s string) string { return strings.ReplaceAll(s, "$", "$$") }

func TestExpand(t *testing.T) {
	for value, want := range map[string]string{
		"plain":                     "plain",
		"":                          "",
		"$NAME":                     "ann",
		"${NAME}":                   "ann",
		"hi ${NAME}!":               "hi ann!",
		"$A_1-$NAME":                "one-ann",
		"$NAMEX":                    "", // another variable
		"${NAME}X":                  "annX",
		"$$NAME":                    "$NAME",
		"$$$NAME":                   "$ann",
		"$$${NAME}$$":               "$ann$",
		"5$, $5 and ^a$":            "5$, $5 and ^a$",
		"$.x $(y) $ z":              "$.x $(y) $ z",
		"${NAME:-x}":                "ann",
		"${EMPTY:-x}":               "x",
		"${EMPTY-x}":                "",
		"${GONE:-x}":                "x",
		"${GONE-x}":                 "x",
		"${GONE:-}":                 "",
		"${GONE:-a b:c}":            "a b:c",
		"${GONE:-${NAME}}":          "ann",
		"${GONE:-${ALSO:-$NAME}s}.": "anns.",
		"${GONE:-$$5}":              "$5",
		"${NAME:+set}":              "set",
		"${EMPTY:+set}":             "",
		"${EMPTY+set}":              "set",
		"${GONE+set}":               "",
		"${NAME:?no}":               "ann",
		"${EMPTY?no}":               "",
		"${DOLLAR}":                 "$NAME", // a value is not read again
		"redis://${NAME}:p@h/$${x}": "redis://ann:p@h/${x}",
		"{\"a\": \"${NAME}\"}":      "{\"a\": \"ann\"}",
		"ä${NAME}ö":                 "äannö",
	} {
		tree, err := parseTemplate(value)
		if err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		if got, err := tree.expand(host, func(string) {}); err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", value, got, err, want)
		}
		if literal, err := parseTemplate(literally(value)); err != nil {
			t.Errorf("literal %s: %v", value, err)
		} else if got, err := literal.expand(host, nil); err != nil || got != value {
			t.Errorf("literal %s: %q %v", value, got, err)
		}
	}
}

func TestRequired(t *testing.T) {
	for value, want := range map[string]string{
		"${GONE:?}":                   "GONE is not set",
		"${GONE:?ask ${NAME} for it}": "GONE is not set: ask ann for it",
		"${EMPTY:?say so}":            "EMPTY is not set: say so",
		"x${OTHER:-${GONE?deep}}":     "GONE is not set: deep",
	} {
		_, _, err := Environ([]EnvVar{{Name: "V", Value: value}}, host)
		var required *RequiredError
		if !errors.As(err, &required) || required.Error() != want {
			t.Errorf("%s: %v, want %s", value, err, want)
		}
	}
}

func TestHostValues(t *testing.T) {
	c := mustParse(t, "agents:\n  a:\n    image: i\n    command: [x]\n    environment: [NAME, GONE, 'B=${MISSING} $$', 'C=${A_1:-${ALSO}}']\n"+
		"notify: {command: [x], environment: {D: '${WHO:?who?}', DOLLAR: }}\n")
	values, unset, err := c.HostValues(host)
	if want := "agent a: variable GONE is not set here, so it will not be there either\n" +
		"agent a: variable B: MISSING is not set here; an empty text takes its place"; strings.Join(unset, "\n") != want {
		t.Errorf("unset %q", unset)
	}
	if err == nil || err.Error() != "notify: variable D: WHO is not set: who?" {
		t.Errorf("error %v", err)
	}
	if len(values) != 3 || values["NAME"] != "ann" || values["A_1"] != "one" || values["DOLLAR"] != "$NAME" {
		t.Errorf("values %q", values)
	}
	environ, _, err := Environ(c.Agents[0].Environment, func(name string) (string, bool) { v, set := values[name]; return v, set })
	if want := []string{"NAME=ann", "B= $", "C=one"}; err != nil || !slices.Equal(environ, want) {
		t.Errorf("environment %q %v", environ, err)
	}
}

func TestInterpolates(t *testing.T) {
	for value, want := range map[string]bool{"": false, "x": false, "5$": false, "$5": false, "$$": true, "a$$b": true, "$A": true, "${A:-x}": true} {
		c := &Config{Notify: &Notify{Environment: []EnvVar{{Name: "A", Inherit: true}, {Name: "B", Value: value}}}}
		if c.Interpolates() != want {
			t.Errorf("%q: %v", value, !want)
		}
	}
}

// Arguments of builds have the host's values, which no program gets; in local mode nothing
// is built.
func TestBuildArguments(t *testing.T) {
	c := mustParse(t, "agents: {a: {build: {args: [\"A=${HOST:-x}\", 'B=$$1', 'C=$GONE', D=]}, command: [x]}}\n")
	lookup := func(name string) (string, bool) {
		if name == "HOST" {
			return "h", true
		}
		return "", false
	}
	args, _, err := c.Agents[0].Build.Values(lookup)
	if want := map[string]string{"A": "h", "B": "$1", "C": "", "D": ""}; err != nil || !maps.Equal(args, want) {
		t.Errorf("got %q, %v", args, err)
	}
	values, unset, err := c.HostValues(lookup)
	if err != nil || len(values) > 0 || len(unset) != 1 || unset[0] != "agent a: build.args: variable C: GONE is not set here; an empty text takes its place" || !c.Interpolates() {
		t.Errorf("values %q, unset %q, %v", values, unset, err)
	}
	c = mustParse(t, "agents: {a: {build: {args: {A: '${GONE:?set it}'}}, command: [x]}}\n")
	if _, _, err := c.HostValues(lookup); err == nil || err.Error() != "agent a: build.args: variable A: GONE is not set: set it" {
		t.Errorf("got %v", err)
	}
	c.Agents[0].Build.Args["KEY"], c.Agents[0].Build.Args["TOKEN"] = "${MINE}", "hush"
	if shown, _ := c.WithoutSecrets(); shown.Agents[0].Build.Args["KEY"] != "${MINE}" || shown.Agents[0].Build.Args["TOKEN"] != Masked {
		t.Errorf("shown %q", shown.Agents[0].Build.Args)
	}
	c.Runtime = RuntimeProcess
	if _, unset, err := c.HostValues(lookup); err != nil || len(unset) > 0 {
		t.Errorf("local mode: %q, %v", unset, err)
	}
}

// References alone are no secrets; texts beside them and defaults may be.
func TestMaskedReferences(t *testing.T) {
	for written, want := range map[string]string{
		"API_KEY=${KEY}":                "${KEY}",
		"API_KEY=$KEY":                  "$KEY",
		"API_KEY=${KEY:?set the KEY}":   "${KEY:?set the KEY}",
		"API_KEY=${KEY:-hush}":          Masked,
		"API_KEY=x${KEY}":               Masked,
		"API_KEY=a$$b":                  Masked,
		"LEVEL=${LEVEL:-info}":          "${LEVEL:-info}",
		"OTHER=${MY_TOKEN:-hush}":       Masked,
		"OTHER=${A:-${MY_TOKEN:-hush}}": Masked,
		"OTHER=${MY_TOKEN}":             "${MY_TOKEN}",
	} {
		name, value, _ := strings.Cut(written, "=")
		if got := (EnvVar{Name: name, Value: value}).maskValue(); got != want {
			t.Errorf("%s: %s, want %s", written, got, want)
		}
	}
}

// The digest for the ledger does not know the host's values.
func TestPublicDigest(t *testing.T) {
	a := mustParse(t, minimal).Agents[0]
	a.Resolved = &Resolved{Image: "i"}
	public, whole := a.PublicDigest(), a.Digest()
	a.Resolved.Values = "x"
	if a.PublicDigest() != public || a.Digest() == whole || a.Resolved.Values != "x" {
		t.Errorf("public %v, whole %v", a.PublicDigest() == public, a.Digest() == whole)
	}
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"", "$", "$$", "${A:-${B}}", "${A:?x}", "a}b", "${", "${A:-", "$\xff{", "${A:+$$}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		literal, err := parseTemplate(literally(s))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := literal.expand(nil, nil); err != nil || got != s {
			t.Fatalf("%q %v", got, err)
		}
		if tree, err := parseTemplate(s); err == nil {
			_, _ = tree.expand(host, func(string) {})
		}
	})
}

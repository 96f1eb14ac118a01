package store

import (
	"flag"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite ../../lua/_keys.lua")

// The scripts have every name of Keys, and no other.
func TestLuaKeys(t *testing.T) {
	const file, header = "../../lua/_keys.lua", 4 // lines before the names
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := string(b)
	want := strings.Join(strings.SplitAfter(got, "\n")[:header], "") + luaKeys()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != want {
		t.Errorf("%s is not made of keys.go: run this test with -update. It should be\n%s", file, want)
	}
}

// luaKeys writes the names of Keys for the scripts, in the order of the alphabet.
func luaKeys() string {
	keys := reflect.ValueOf(Keys{})
	upper := regexp.MustCompile(`([a-z])([A-Z])`)
	var out strings.Builder
	for i := range keys.NumMethod() {
		name := strings.ToLower(upper.ReplaceAllString(keys.Type().Method(i).Name, "${1}_$2"))
		if !strings.HasSuffix(name, "_events") && name != "claim_targets" { // channels
			name += "_key"
		}
		method := keys.Method(i)
		if method.Type().NumIn() == 0 {
			out.WriteString("local " + name + " = P .. '" + method.Call(nil)[0].String() + "'\n")
			continue
		}
		before, after, _ := strings.Cut(method.Call([]reflect.Value{reflect.ValueOf("%")})[0].String(), "%")
		text := "local function " + name + "(id) return P .. '" + before + "' .. id"
		if after != "" {
			text += " .. '" + after + "'"
		}
		out.WriteString(text + " end\n")
	}
	return out.String()
}

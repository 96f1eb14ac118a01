package gateway_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/roles/role/gateway"
)

func TestRefusalThereAndBack(t *testing.T) {
	want := gateway.Refusal{Why: gateway.Budget, Budget: &blackboard.Exceeded{Of: "goal", Unit: "cost", Limit: "1", Used: "2"}, Message: "größer 😀 \"x\"\x7f"}
	h := http.Header{}
	want.Write(h)
	for _, r := range h.Get(gateway.Refused) {
		if r < ' ' || r > '~' {
			t.Errorf("%q is in the header", r)
		}
	}
	if got, ok := gateway.ReadRefusal(h); !ok || !reflect.DeepEqual(got, want) || h.Get("x-should-retry") != "false" {
		t.Errorf("%v %+v, want %+v", ok, got, want)
	}
	if _, ok := gateway.ReadRefusal(http.Header{}); ok {
		t.Error("a provider's answer is a refusal")
	}
}

func TestCallThereAndBack(t *testing.T) {
	want := blackboard.Call{ID: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Claim: "01ARZ3NDEKTSV4RRFFQ69G5FAW", Agent: "coder", Attempt: 2, Holder: "h"}
	q := &http.Request{Header: http.Header{}}
	gateway.SetCall(q.Header, gateway.Token("key", "coder"), want)
	if got, ok := gateway.ReadCall(q.Header); !ok || got != want {
		t.Errorf("%v %+v", ok, got)
	}
	if !gateway.Admits("key", q) {
		t.Error("not admitted")
	}
	for name, value := range map[string]string{gateway.Agent: "reviewer", "Authorization": "Bearer x"} {
		spoilt := &http.Request{Header: q.Header.Clone()}
		spoilt.Header.Set(name, value)
		if gateway.Admits("key", spoilt) {
			t.Errorf("%s %s is admitted", name, value)
		}
	}
	for _, name := range []string{gateway.Call, gateway.Claim, gateway.Attempt, gateway.Agent} {
		spoilt := q.Header.Clone()
		spoilt.Set(name, strings.Repeat("-", 3))
		if name == gateway.Agent {
			spoilt.Del(name)
		}
		if _, ok := gateway.ReadCall(spoilt); ok {
			t.Errorf("a broken %s is read", name)
		}
	}
}

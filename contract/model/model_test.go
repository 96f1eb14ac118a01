package model_test

import (
	"encoding/json"
	"math"
	"testing"

	"sett/contract/model"
)

func TestCost(t *testing.T) {
	price := model.Price{Input: 3 * model.Unit, Cached: model.Unit * 3 / 10, CacheWrite: model.Unit * 375 / 100, Output: 15 * model.Unit}
	for _, c := range []struct {
		usage model.Usage
		want  string
	}{
		{model.Usage{}, "0.00"},
		{model.Usage{Input: 1_000_000}, "3.00"},
		{model.Usage{Input: 1}, "0.000003"},
		{model.Usage{Cached: 1_000_000, CacheWrite: 1_000_000, Output: 1_000_000, Reasoning: 1_000_000}, "19.05"},
		{model.Usage{Output: 1_000_000_000}, "15000.00"}, // the product is beyond 64 bits
	} {
		if got := price.Cost(c.usage).String(); got != c.want {
			t.Errorf("%+v costs %s, want %s", c.usage, got, c.want)
		}
	}
	if got := (model.Price{Input: 1}).Cost(model.Usage{Input: 1}); got != 1 {
		t.Errorf("part of a billionth is rounded to %d, want 1", got)
	}
}

func TestMoneyString(t *testing.T) {
	for m, want := range map[model.Money]string{0: "0.00", 1: "0.000000001", -model.Unit: "-1.00", 10_500_000_000: "10.50", math.MaxInt64: "9223372036.854775807"} {
		if got := m.String(); got != want {
			t.Errorf("%d: %s, want %s", int64(m), got, want)
		}
	}
}

func TestMoneyJSON(t *testing.T) {
	for m, want := range map[model.Money]string{0: "0", 1: "0.000000001", 3 * model.Unit: "3", model.Unit * 3 / 10: "0.3", 100 * model.Unit: "100", -model.Unit / 2: "-0.5"} {
		text, err := json.Marshal(m)
		if err != nil || string(text) != want {
			t.Errorf("%d is written as %s, want %s (%v)", int64(m), text, want, err)
		}
		var back model.Money
		if err := json.Unmarshal(text, &back); err != nil || back != m {
			t.Errorf("%s is read as %d (%v)", text, int64(back), err)
		}
	}
	var m model.Money
	for _, bad := range []string{`"3"`, `0.0000000001`, `1e30`, `true`} {
		if json.Unmarshal([]byte(bad), &m) == nil {
			t.Errorf("%s is read as %s", bad, m)
		}
	}
	if json.Unmarshal([]byte("1e1"), &m) != nil || m != 10*model.Unit {
		t.Errorf("1e1 is read as %s", m)
	}
}

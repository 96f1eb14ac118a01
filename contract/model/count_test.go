package model_test

import (
	"encoding/json"
	"math"
	"testing"

	"sett/contract/model"
)

func TestCount(t *testing.T) {
	for text, want := range map[string]model.Count{
		"0": {Known: true}, "7": {Tokens: 7, Known: true}, "1099511627776": {Tokens: model.MostCount, Known: true},
		"1099511627777": {}, "4611686018427387904": {}, "99999999999999999999": {}, "-1": {}, "1.5": {}, "12.0": {}, "1e3": {}, `"7"`: {}, "null": {}, "[7]": {}, "true": {},
	} {
		got := model.Count{Tokens: 3, Known: true}
		if err := json.Unmarshal([]byte(text), &got); err != nil || text != "null" && got != want {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
	}
}

// TestCostClamps: a cost is never below zero, however high the counts and the prices are.
func TestCostClamps(t *testing.T) {
	price := model.Price{Input: math.MaxInt64, Cached: math.MaxInt64, CacheWrite: math.MaxInt64, Output: math.MaxInt64}
	most := model.MostCount
	if got := price.Cost(model.Usage{Input: most, Cached: most, CacheWrite: most, Output: most}); got != model.MostMoney {
		t.Errorf("it costs %d", int64(got))
	}
	if got := (model.Price{Input: 1_000_000}).Cost(model.Usage{Input: 7}); got != 7 {
		t.Errorf("it costs %d, want all of it", int64(got))
	}
}

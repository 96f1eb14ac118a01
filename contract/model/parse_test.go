package model_test

import (
	"strings"
	"testing"
	"time"

	"sett/contract/model"
)

func TestParseMoney(t *testing.T) {
	for s, want := range map[string]model.Money{
		"0": 0, "2": 2 * model.Unit, "0.25": model.Unit / 4, "3.75": model.Unit * 15 / 4, "0.000000001": 1, "9000000": model.MostMoney, "007": 7 * model.Unit,
		"": -1, ".5": -1, "1.": -1, "-1": -1, "+1": -1, "1e3": -1, "$5": -1, "0.0000000001": -1, "9000001": -1, "9223372036854775808": -1, "1,5": -1, "٣": -1,
	} {
		if got, ok := model.ParseMoney(s); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d %v, want %d", s, got, ok, want)
		}
	}
}

func TestParseTokens(t *testing.T) {
	for s, want := range map[string]int64{
		"1": 1, "200000": 200_000, "200k": 200_000, "200K": 200_000, "5M": 5_000_000, "1.5M": 1_500_000, "0.001k": 1,
		"0": 0, "": 0, "k": 0, "5m": 0, "1.5": 0, "0.0001k": 0, "-1": 0, "1 k": 0, "1000001M": 0, "99999999999999999999": 0,
	} {
		if got, ok := model.ParseTokens(s); ok != (want > 0) || ok && got != want {
			t.Errorf("%q: %d %v, want %d", s, got, ok, want)
		}
	}
}

func TestParseMore(t *testing.T) {
	for s, want := range map[string]model.Budget{
		"more: cost=5":                              {Cost: 5 * model.Unit},
		" More:tokens=2M\n":                         {Tokens: 2_000_000},
		"more cost=0.05":                            {Cost: model.Unit / 20},
		"MORE : calls=2":                            {Calls: 2},
		"more: calls=10, time=1h30m":                {Calls: 10, Time: 90 * time.Minute},
		"more: cost=0.5 tokens=1k calls=1 time=10s": {Cost: model.Unit / 2, Tokens: 1000, Calls: 1, Time: 10 * time.Second},
	} {
		if got, asked, err := model.ParseMore(s); !asked || err != nil || got != want {
			t.Errorf("%q: %+v %v %v", s, got, asked, err)
		}
	}
	for s, want := range map[string]string{
		"more:": "names no limit", "more: money=5": "unknown limit", "more: cost": "no amount of cost", "more: cost=-5": "no amount of cost", "more: cost=0": "no amount of cost",
		"more: cost=1 cost=2": "twice", "more: time=5": "no amount of time", "more: calls=1.5": "no amount of calls", "more: please": "unknown limit",
		"more": "names no limit", "more please": "unknown limit", "more, and quickly": "unknown limit", "more=5": "unknown limit",
	} {
		if got, asked, err := model.ParseMore(s); !asked || err == nil || !strings.Contains(err.Error(), want) || !got.IsZero() {
			t.Errorf("%q: %+v %v %v, want %q", s, got, asked, err, want)
		}
	}
	for _, s := range []string{"", "no", "stop", "moreover: cost=5", "more2 cost=5", "I want more: cost=5"} {
		if _, asked, err := model.ParseMore(s); asked || err != nil {
			t.Errorf("%q asks for more: %v", s, err)
		}
	}
}

func TestPlus(t *testing.T) {
	got := model.Budget{Cost: model.Unit, Calls: 3}.Plus(model.Budget{Cost: 2 * model.Unit, Tokens: 5, Calls: 1})
	if got != (model.Budget{Cost: 3 * model.Unit, Calls: 4}) {
		t.Errorf("got %+v", got)
	}
}

package env_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"sett/contract/env"
	"sett/contract/model"
)

func gatewaySettings() env.Gateway {
	retries := 0
	return env.Gateway{
		Instance: "i", Addr: "127.0.0.1:1", Key: "k", Keys: "/keys", Secrets: "{}", Answers: "/answers", HealthAddr: "off",
		Redis: env.Redis{URL: "redis://:p@h:1/0", Timeout: time.Second, Retries: 5, GiveUp: time.Minute},
		Models: []env.Model{{Name: "smart", API: model.Messages, BaseURL: "https://h/v1", Model: "m", Context: 1, MaxOutput: 2, Price: &model.Price{Input: model.Unit},
			Timeout: time.Second, Idle: 2 * time.Second, Retries: &retries, Concurrency: 3, Headers: map[string]string{"a": "b"}, Record: "r", Ignore: []string{"x"}}},
		Agents:   map[string]env.GatewayAgent{"coder": {Model: "smart", Budget: model.Budget{Cost: model.Unit, Tokens: 5, Calls: 6, Time: time.Hour}}},
		Budget:   model.Budget{Calls: 7},
		OnBudget: model.OnBudgetAsk,
	}
}

func lookupIn(vars []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, v := range vars {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}

func TestGatewayThereAndBack(t *testing.T) {
	want := gatewaySettings()
	vars := want.Environ()
	got, err := env.ParseGateway(lookupIn(vars))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v\n got %+v\nwant %+v", err, got, want)
	}
	for _, v := range vars {
		if name, value, _ := strings.Cut(v, "="); name == env.Models && strings.Contains(value, `"k"`) {
			t.Errorf("the secret is in %s", v)
		}
	}
}

func TestGatewayRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*env.Gateway){
		`agent coder: there is no model "x"`: func(g *env.Gateway) { g.Agents["coder"] = env.GatewayAgent{Model: "x"} },
		`base_url is "h"`:                    func(g *env.Gateway) { g.Models[0].BaseURL = "h" },
		`api is "rest"`:                      func(g *env.Gateway) { g.Models[0].API = "rest" },
		`two models are called "smart"`:      func(g *env.Gateway) { g.Models = append(g.Models, g.Models[0]) },
		"no name at its provider":            func(g *env.Gateway) { g.Models[0].Model = "" },
		"SETT_MODEL_GATEWAY_KEY is not set":  func(g *env.Gateway) { g.Key = "" },
	} {
		g := gatewaySettings()
		spoil(&g)
		if _, err := env.ParseGateway(lookupIn(g.Environ())); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q, got %v", name, err)
		}
	}
}

func TestModelKeys(t *testing.T) {
	if keys, err := env.ParseModelKeys([]byte(`{"smart":"sk-1"}`)); err != nil || keys["smart"] != "sk-1" {
		t.Errorf("%v %v", keys, err)
	}
	for _, text := range []string{`["sk-1"]`, `{"smart":"sk-1\n"}`, `sk-1`} {
		if _, err := env.ParseModelKeys([]byte(text)); err == nil || strings.Contains(err.Error(), "sk-1") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestModelURL(t *testing.T) {
	for _, c := range []struct {
		api              model.API
		base, path, want string
	}{
		{model.Chat, "http://h:1/v1", "/v1/chat/completions", "http://h:1/v1/chat/completions"},
		{model.Chat, "http://h:1/v1/", "/v1/models", "http://h:1/v1/models"},
		{model.Chat, "http://h:1", "/v1/chat/completions", "http://h:1/v1/chat/completions"},
		{model.Responses, "https://h/api/v3", "/v1/responses", "https://h/api/v3/responses"},
		{model.Messages, "https://h", "/v1/messages", "https://h/v1/messages"},
		{model.Messages, "https://h/anthropic", "/v1/messages", "https://h/anthropic/v1/messages"},
		{model.Messages, "https://h/anthropic/v1", "/v1/messages/count_tokens", "https://h/anthropic/v1/messages/count_tokens"},
	} {
		if got := (env.Model{API: c.api, BaseURL: c.base}).URL(c.path); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.base, c.path, got, c.want)
		}
	}
}

package starter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sett/contract/config"
	"sett/contract/model"
	"sett/roles/cli/instance"
	"sett/roles/role"
)

// modelMaker begins the work on a goal for examples that ask a model.
const modelMaker = "llm-coder"

// AsksModel says whether the agents of an example ask a model.
func AsksModel(kind string) bool { return strings.HasPrefix(kind, "llm-") || kind == "byo" }

// modelName is the name that an example's model gets in sett.yml.
const modelName = "main"

// withModel returns the name of a model in sett.yml for an example that asks one: of the
// first that is there, else of a new one, and the source with it.
func withModel(kind, source, name string, as []config.Option) (string, string, error) {
	if !AsksModel(kind) {
		if name != "" {
			return "", source, role.Fail(role.Usage, fmt.Errorf("the example %s asks no model", kind), "leave --model out")
		}
		return "", source, nil
	}
	if c, err := config.Parse(instance.ConfigName, []byte(source), as...); err == nil && len(c.Models) > 0 {
		if name != "" {
			return "", source, role.Fail(role.Usage, fmt.Errorf("%s has models: %s", instance.ConfigName, strings.Join(c.ModelNames(), ", ")), "leave --model out: the example takes the first")
		}
		return c.Models[0].Name, source, nil
	}
	if name == "" {
		return "", source, role.Fail(role.Usage, errors.New("the example asks a model, and none is named"), "sett init --example %s --model NAME, with the name that your provider gives it", kind)
	}
	api, key := model.Chat, "OPENAI_API_KEY"
	if strings.HasPrefix(name, "claude") {
		api, key = model.Messages, "ANTHROPIC_API_KEY"
	}
	if source != "" && !strings.HasSuffix(source, "\n") {
		source += "\n"
	}
	return modelName, source + fmt.Sprintf(`
models:
  %s: # api: chat, messages or responses; a server of your own: base_url: "http://localhost:11434/v1", without a key
    {api: %s, model: %s, api_key_env: %s}

budget: {calls: 200, tokens: 5M} # of each goal
`, modelName, api, strconv.Quote(name), key), nil
}

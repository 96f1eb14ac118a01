package env

import (
	"sett/contract/model"
)

// The variables of a cub for an agent with a model, besides ModelGateway, ModelToken,
// ModelName, ModelAPI and LLMSettings.
const (
	ModelDoor = "SETT_MODEL_DOOR" // off: the tool gets no variables of the door; default: on
	OnBudget  = "SETT_ON_BUDGET"  // fail (default), or ask: a person is asked when a budget is used up
)

// Asks has the settings of a cub for an agent that may ask a model.
type Asks struct {
	Gateway  string // URL of the model gateway; empty: the agent has no model
	Token    string // the agent's token there
	Model    string // its name at its provider
	API      model.API
	NoDoor   bool
	OnBudget string
	LLM      *LLM // nil: none, for `sett llm`
}

// variables lists the names with their values.
func (a Asks) variables() [][2]string {
	if a.Gateway == "" {
		return nil
	}
	door, llm := "", ""
	if a.NoDoor {
		door = "off"
	}
	if a.LLM != nil {
		llm = a.LLM.Encode()
	}
	return [][2]string{
		{ModelGateway, a.Gateway}, {ModelToken, a.Token}, {ModelName, a.Model}, {ModelAPI, string(a.API)}, {ModelDoor, door}, {OnBudget, a.OnBudget}, {LLMSettings, llm},
	}
}

// asks reads the settings; without a gateway there are none.
func (r *Reader) asks() Asks {
	gateway := r.Or(ModelGateway, "")
	if gateway == "" {
		return Asks{}
	}
	a := Asks{
		Gateway: gateway, Token: r.Required(ModelToken, "the agent's token of the model gateway"), Model: r.Required(ModelName, "the model's name at its provider"),
		API:      model.API(r.OneOf(ModelAPI, string(model.Chat), string(model.Messages), string(model.Responses))),
		NoDoor:   r.OneOf(ModelDoor, "on", "off") == "off",
		OnBudget: r.OneOf(OnBudget, model.OnBudgetFail, model.OnBudgetAsk),
	}
	if r.Or(LLMSettings, "") != "" {
		a.LLM = &LLM{}
		r.array(LLMSettings, a.LLM, "the JSON object that the orchestrator gives")
	}
	return a
}

package modelclient

import (
	"encoding/json"

	"sett/contract/model"
)

// openUsage counts as chat completions and responses do: cached tokens are part of the
// prompt's.
type openUsage struct {
	Prompt, Completion int64
	Details            struct {
		Cached     int64 `json:"cached_tokens"`
		CacheWrite int64 `json:"cache_write_tokens"`
	}
	Reasoning int64
}

// UnmarshalJSON reads the names of both APIs.
func (u *openUsage) UnmarshalJSON(data []byte) error {
	type details = struct {
		Cached     model.Count `json:"cached_tokens"`
		CacheWrite model.Count `json:"cache_write_tokens"`
		Reasoning  model.Count `json:"reasoning_tokens"`
	}
	var v struct {
		Prompt            model.Count `json:"prompt_tokens"`
		Completion        model.Count `json:"completion_tokens"`
		Input             model.Count `json:"input_tokens"`
		Output            model.Count `json:"output_tokens"`
		PromptDetails     details     `json:"prompt_tokens_details"`
		CompletionDetails details     `json:"completion_tokens_details"`
		InputDetails      details     `json:"input_tokens_details"`
		OutputDetails     details     `json:"output_tokens_details"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	u.Prompt, u.Completion = v.Prompt.Tokens+v.Input.Tokens, v.Completion.Tokens+v.Output.Tokens
	u.Details.Cached = v.PromptDetails.Cached.Tokens + v.InputDetails.Cached.Tokens
	u.Details.CacheWrite = v.PromptDetails.CacheWrite.Tokens + v.InputDetails.CacheWrite.Tokens
	u.Reasoning = v.CompletionDetails.Reasoning.Tokens + v.OutputDetails.Reasoning.Tokens
	return nil
}

func (u *openUsage) usage() *model.Usage {
	return &model.Usage{
		Input: max(0, u.Prompt-u.Details.Cached-u.Details.CacheWrite), Cached: u.Details.Cached, CacheWrite: u.Details.CacheWrite,
		Output: u.Completion, Reasoning: u.Reasoning,
	}
}

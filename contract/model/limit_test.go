package model_test

import (
	"testing"

	"sett/contract/model"
)

func TestLimitOf(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://api.openai.com/v1": model.MaxCompletionTokens, "https://EU.api.openai.com": model.MaxCompletionTokens,
		"https://mine.openai.azure.com/openai/v1": model.MaxCompletionTokens,
		"https://api.mistral.ai/v1":               model.MaxTokens, "https://generativelanguage.googleapis.com/v1beta/openai": model.MaxTokens, "http://127.0.0.1:8080": model.MaxTokens,
		"https://proxy.example/api.openai.com": model.MaxTokens, "https://notopenai.com": model.MaxTokens, "": model.MaxTokens, "::": model.MaxTokens,
	} {
		if got := model.LimitOf(base); got != want {
			t.Errorf("%s takes %s, want %s", base, got, want)
		}
	}
	if model.OtherLimit(model.MaxTokens) != model.MaxCompletionTokens || model.OtherLimit(model.MaxCompletionTokens) != model.MaxTokens {
		t.Error("the other one is the same")
	}
}

package model

import (
	"net/url"
	"strings"
)

// The fields of a chat with the limit of the output, in tokens. OpenAI's newer models refuse the older
// name, other servers the newer one, or do not heed it.
const (
	MaxTokens           = "max_tokens"
	MaxCompletionTokens = "max_completion_tokens"
)

// LimitOf is the field that the chat at an address takes: OpenAI's, and its models' at Azure, the newer
// one (platform.openai.com/docs/api-reference/chat/create), any other the older.
func LimitOf(baseURL string) string {
	at, err := url.Parse(baseURL)
	if err != nil {
		return MaxTokens
	}
	host := "." + strings.ToLower(at.Hostname())
	if strings.HasSuffix(host, ".openai.com") || strings.HasSuffix(host, ".openai.azure.com") {
		return MaxCompletionTokens
	}
	return MaxTokens
}

// OtherLimit is the other one of the two fields.
func OtherLimit(field string) string {
	if field == MaxTokens {
		return MaxCompletionTokens
	}
	return MaxTokens
}

package modelclient

import (
	"encoding/json"
	"testing"
)

// TestOddUsage: counts that no provider means are no reason to ask the model again.
func TestOddUsage(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"-1", "4611686018427387904", "1.5", `"12"`, "null"} {
		var open openUsage
		if err := json.Unmarshal([]byte(`{"prompt_tokens":`+n+`,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":`+n+`}}`), &open); err != nil || open.Prompt != 0 || open.Completion != 5 {
			t.Errorf("%s: %+v, %v", n, open, err)
		}
		var e messagesEvent
		if err := decode([]byte(`{"type":"message_delta","usage":{"input_tokens":`+n+`,"output_tokens":5}}`), &e); err != nil || e.Usage.Input.Tokens != 0 || e.Usage.Output.Tokens != 5 {
			t.Errorf("%s: %+v, %v", n, e.Usage, err)
		}
	}
}

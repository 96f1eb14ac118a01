package view

import (
	"testing"

	"sett/blackboard"
)

func TestLeftInModules(t *testing.T) {
	for metadata, want := range map[string]string{
		"": "", "{}": "", "[]": "", `{"changed_submodules":"lib"}`: "", `{"changed_submodules":[]}`: "",
		"{\"changed_submodules\":[\"lib\",\"a\\u001bb\"]}": "what the tool changed in submodules is not in its result: lib, a\\x1bb",
	} {
		if got := LeftInModules(blackboard.Artefact{Metadata: []byte(metadata)}); got != want {
			t.Errorf("%s: %q, want %q", metadata, got, want)
		}
	}
}

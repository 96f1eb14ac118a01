package tool

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func sample() blackboard.Artefact {
	return blackboard.Artefact{
		ID: "01JZ0000000000000000000002", LogicalID: "01JZ0000000000000000000002", Version: 1,
		StructuralType: blackboard.Standard, Type: "DesignSpec", Payload: "if a < b && c > d { return \"ü\" }",
		SourceArtefacts: []string{"01JZ0000000000000000000001"}, ProducedByRole: "architect", ProducedByAgent: "arch",
		ClaimID: "01JZ00000000000000000000AA", WorkflowID: "01JZ0000000000000000000001", Summary: "a <b>design</b>",
		Metadata: json.RawMessage(`{"k":"<v>"}`), CreatedAt: time.Date(2026, 3, 1, 13, 0, 0, 0, time.FixedZone("x", 3600)),
	}
}

func goal() blackboard.Artefact {
	return blackboard.Artefact{ID: "01JZ0000000000000000000001", LogicalID: "01JZ0000000000000000000001", Version: 1,
		StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined, ProducedByRole: blackboard.RoleUser,
		WorkflowID: "01JZ0000000000000000000001", CreatedAt: time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC)}
}

func TestEncode(t *testing.T) {
	input := func(in Input) ([]byte, error) { return in.Encode() }
	for name, encoded := range map[string]func() ([]byte, error){
		"input.json": func() ([]byte, error) {
			return input(Input{ClaimType: blackboard.BidExclusive, Target: sample(), ContextChain: []blackboard.Artefact{goal()}})
		},
		"input-retry.json": func() ([]byte, error) {
			return input(Input{ClaimType: blackboard.BidExclusive, Target: goal(), Retry: Retry{"01JZ00000000000000000000FF", "the <disk> is empty"}})
		},
		"input-root.json": func() ([]byte, error) { return input(Input{ClaimType: blackboard.BidReview, Target: goal()}) },
		"bid.json": func() ([]byte, error) {
			return EncodeBid(sample(), "01JZ00000000000000000000BB", []blackboard.Artefact{goal()})
		},
		"bid-root.json": func() ([]byte, error) { return EncodeBid(goal(), "01JZ00000000000000000000BB", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			got, err := encoded()
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got  %swant %s", got, want)
			}
			if !json.Valid(got) || bytes.Count(got, []byte("\n")) != 1 || bytes.Contains(got, []byte("null")) {
				t.Errorf("not one line of JSON without nulls: %q", got)
			}
		})
	}
}

func TestEncodeMatchesTheCanonicalForm(t *testing.T) {
	for _, a := range []blackboard.Artefact{sample(), goal()} {
		got, err := Input{ClaimType: blackboard.BidClaim, Target: a}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		var outer struct {
			Target map[string]any `json:"target_artefact"`
		}
		if err := json.Unmarshal(got, &outer); err != nil {
			t.Fatal(err)
		}
		canonical, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		target, err := json.Marshal(outer.Target)
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := json.Unmarshal(canonical, &want); err != nil {
			t.Fatal(err)
		}
		if same, _ := json.Marshal(want); !bytes.Equal(target, same) {
			t.Errorf("target %s, canonical %s", target, same)
		}
	}
}

func TestEncodeRefusesBrokenMetadata(t *testing.T) {
	a := sample()
	a.Metadata = json.RawMessage("{")
	if _, err := (Input{Target: a}).Encode(); err == nil || !strings.HasPrefix(err.Error(), "encode tool input: ") {
		t.Errorf("Encode: %v", err)
	}
	if _, err := EncodeBid(a, "x", nil); err == nil || !strings.HasPrefix(err.Error(), "encode bid input: ") {
		t.Errorf("EncodeBid: %v", err)
	}
}

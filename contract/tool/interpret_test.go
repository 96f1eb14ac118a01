package tool

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sett/blackboard"
)

func TestInterpret(t *testing.T) {
	const no = ""
	// What each structural type becomes, per phase.
	table := map[blackboard.StructuralType]map[blackboard.Phase]blackboard.StructuralType{
		"":         {"review": "Review", "parallel": "Standard", "exclusive": "Standard"},
		"Standard": {"review": "Review", "parallel": "Standard", "exclusive": "Standard"},
		"Review":   {"review": "Review", "parallel": no, "exclusive": no},
		"Question": {"review": "Question", "parallel": "Question", "exclusive": "Question"},
		"Answer":   {"review": no, "parallel": no, "exclusive": no},
		"Failure":  {"review": "Failure", "parallel": "Failure", "exclusive": "Failure"},
		"Terminal": {"review": no, "parallel": "Terminal", "exclusive": "Terminal"},
		"Nonsense": {"review": no, "parallel": no, "exclusive": no},
	}
	for st, row := range table {
		for _, phase := range blackboard.Phases {
			in := Output{StructuralType: st, Type: "T", Payload: "p", Summary: "s"}
			out, err := Interpret(phase, in)
			if want := row[phase]; want != no {
				in.StructuralType = want
				if err != nil || fmt.Sprint(out) != fmt.Sprint(in) {
					t.Errorf("%s under %s: %+v, %v, want %+v", st, phase, out, err, in)
				}
				continue
			}
			var violation *ViolationError
			if !errors.As(err, &violation) || FailureType(err) != blackboard.TypeContractViolation {
				t.Errorf("%s under %s: %+v, %v, want a violation", st, phase, out, err)
			} else if !strings.Contains(err.Error(), string(phase)) || !strings.Contains(err.Error(), "Question, Failure") {
				t.Errorf("%s under %s: error %q does not say what is allowed", st, phase, err)
			}
		}
	}
}

// An output names its commit in the payload, by its type, or beside it.
func TestCommits(t *testing.T) {
	whole := map[string]string{"aaaaaaa": "aaaaaaaa1", "bbbbbbb": "bbbbbbbb2"}
	find := func(part, hash string) (string, error) {
		if whole[hash] == "" {
			return "", &ViolationError{Reason: part + ": no " + hash}
		}
		return whole[hash], nil
	}
	for _, c := range []struct {
		st                     blackboard.StructuralType
		of, payload, commit    string
		wantPayload, want, err string
	}{
		{"Standard", "CodeCommit", " aaaaaaa\n", "", "aaaaaaaa1", "aaaaaaaa1", ""},
		{"Terminal", "Terraform", "aaaaaaa", "", "aaaaaaaa1", "aaaaaaaa1", ""},
		{"Standard", "Terraform2", "aaaaaaa", "", "aaaaaaa", "", ""},
		{"Review", "Terraform", "aaaaaaa", "", "aaaaaaa", "", ""},
		{"Standard", "Plan", "text", "bbbbbbb", "text", "bbbbbbbb2", ""},
		{"Review", "Review", "{}", "bbbbbbb", "{}", "bbbbbbbb2", ""},
		{"Standard", "CodeCommit", "aaaaaaa", "aaaaaaa", "aaaaaaaa1", "aaaaaaaa1", ""},
		{"Standard", "CodeCommit", "aaaaaaa", "bbbbbbb", "", "", "commit: bbbbbbbb2 is another one than that of the payload, aaaaaaaa1"},
		{"Standard", "Terraform", "text", "", "", "", "Terraform: no text"},
		{"Standard", "Plan", "text", "main", "", "", "commit: no main"},
	} {
		out, err := Commits(Output{StructuralType: c.st, Type: c.of, Payload: c.payload, Commit: c.commit}, []string{"Terraform"}, find)
		if c.err != "" {
			if FailureType(err) != blackboard.TypeContractViolation || err.Error() != "check tool output: "+c.err {
				t.Errorf("%+v: %v", c, err)
			}
		} else if err != nil || out.Payload != c.wantPayload || out.Commit != c.want {
			t.Errorf("%+v: %+v, %v", c, out, err)
		}
	}
}

func TestNobodyMakesGoals(t *testing.T) {
	for _, phase := range blackboard.Phases {
		for _, st := range blackboard.StructuralTypes {
			_, err := Interpret(phase, Output{StructuralType: st, Type: blackboard.TypeGoalDefined})
			if FailureType(fmt.Errorf("run: %w", err)) != blackboard.TypeContractViolation {
				t.Errorf("%s under %s: %v", st, phase, err)
			}
		}
	}
}

func TestFailureTypeOfOtherErrors(t *testing.T) {
	if got := FailureType(errors.New("x")); got != blackboard.TypeToolExecutionFailure {
		t.Errorf("got %s", got)
	}
}

func TestParseBid(t *testing.T) {
	for _, b := range blackboard.BidTypes {
		for _, around := range []string{"%s", "%s\n", "\n \t%s\r\n"} {
			if got, err := ParseBid(fmt.Appendf(nil, around, b)); err != nil || got != b {
				t.Errorf("%q: %q, %v", fmt.Sprintf(around, b), got, err)
			}
		}
	}
	for stdout, want := range map[string]string{
		"":                         "stdout is empty, expected one of review, claim, exclusive, ignore",
		" \n":                      "stdout is empty",
		"review\nignore":           `found "review\nignore", expected a single word`,
		"Review":                   `did you mean "review"?`,
		"exclusve":                 `did you mean "exclusive"?`,
		"\"claim\"":                `did you mean "claim"?`,
		"yes":                      `found "yes", expected one of`,
		"\x1b[31m\xff":             `found "\x1b[31m\xff", expected one of`,
		strings.Repeat("x", 1<<20): `…, expected one of`,
	} {
		got, err := ParseBid([]byte(stdout))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "parse bid: ") {
			t.Errorf("%.20q: %q, %v, want %q", stdout, got, err, want)
			continue
		}
		checkError(t, err)
	}
}

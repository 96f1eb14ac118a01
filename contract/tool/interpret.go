package tool

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"sett/blackboard"
)

// Interpret checks an output against the phase of its grant (DESIGN.md section 4).
// Under a review grant a Standard output is a Review, and Review, Question and
// Failure are allowed; under other grants Standard, Question, Failure and Terminal.
// No tool may make a GoalDefined. A forbidden output gives a *ViolationError.
func Interpret(phase blackboard.Phase, out Output) (Output, error) {
	if out.Type == blackboard.TypeGoalDefined {
		return Output{}, &ViolationError{Reason: "an agent may not produce artefacts of type GoalDefined"}
	}
	if out.StructuralType == "" {
		out.StructuralType = blackboard.Standard
	}
	allowed := []blackboard.StructuralType{blackboard.Standard, blackboard.Question, blackboard.Failure, blackboard.Terminal}
	if phase == blackboard.PhaseReview {
		if out.StructuralType == blackboard.Standard {
			out.StructuralType = blackboard.Review
		}
		allowed = []blackboard.StructuralType{blackboard.Review, blackboard.Question, blackboard.Failure}
	}
	for _, st := range allowed {
		if out.StructuralType == st {
			return out, nil
		}
	}
	return Output{}, &ViolationError{Reason: fmt.Sprintf("structural_type %s is not allowed under a grant of phase %s, %s",
		excerpt(string(out.StructuralType)), phase, oneOf("", allowed))}
}

// ParseBid reads a bid script's whole stdout: one of the four bids as a single,
// case-sensitive word, with any white space around it.
func ParseBid(stdout []byte) (blackboard.BidType, error) {
	word := string(bytes.TrimSpace(stdout))
	if word == "" {
		return "", fmt.Errorf("parse bid: stdout is empty, %s", oneOf("", blackboard.BidTypes))
	}
	if strings.ContainsFunc(word, unicode.IsSpace) {
		return "", fmt.Errorf("parse bid: found %s, expected a single word (messages belong on stderr)", excerpt(word))
	}
	if bid := blackboard.BidType(word); bid.Valid() {
		return bid, nil
	}
	return "", fmt.Errorf("parse bid: found %s, %s", excerpt(word), oneOf(word, blackboard.BidTypes))
}

package tool

import (
	"bytes"
	"fmt"
	"slices"
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

// PartCommit is the part of an output beside the payload that names a commit, the last one that is looked for.
const PartCommit = fieldCommit

// Commits settles the commit that an output names: in its payload, where it is a
// CodeCommit or of a type that sett.yml declares, or in its field commit, or in both, and
// then it is the same. Find returns the whole hash of a commit that exists, for the part of
// the output that names it; the payload and the field have that then.
func Commits(out Output, declared []string, find func(part, hash string) (string, error)) (Output, error) {
	work := out.StructuralType == blackboard.Standard || out.StructuralType == blackboard.Terminal
	beside, payload := out.Commit, work && (out.Type == blackboard.TypeCodeCommit || slices.Contains(declared, out.Type))
	if payload {
		commit, err := find(out.Type, strings.TrimSpace(out.Payload))
		if err != nil {
			return out, err
		}
		out.Payload, out.Commit = commit, commit
	}
	if beside == "" {
		return out, nil
	}
	commit, err := find(fieldCommit, beside)
	if err == nil && payload && commit != out.Payload {
		err = &ViolationError{Reason: fmt.Sprintf("commit: %s is another one than that of the payload, %s", commit, out.Payload)}
	}
	out.Commit = commit
	return out, err
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

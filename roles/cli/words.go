package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"sett/blackboard"
	"sett/roles/role"
)

// typedWords returns a text that was typed as plain words; - alone reads it from standard
// input.
func typedWords(a *app, what string, words []string) (string, error) {
	if len(words) == 1 && words[0] == "-" {
		return readText(a, what, "-")
	}
	return strings.Join(words, " "), nil
}

// checkText returns an error if a person's text is empty, too long or not UTF-8.
func checkText(a *app, what, text, hint string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return role.Fail(role.Usage, fmt.Errorf("the %s is empty", what), "%s", hint)
	case !isUTF8(a, text):
		return role.Fail(role.Usage, fmt.Errorf("the %s is not UTF-8 text", what), "%s", hint)
	case len(text) > maxText:
		return role.Fail(role.Usage, fmt.Errorf("the %s is larger than %d MiB", what, maxText>>20), "%s", hint)
	}
	return nil
}

// isUTF8 reports whether a text is UTF-8 and was so when it was typed: the parser of
// the command line repairs other bytes silently.
func isUTF8(a *app, text string) bool {
	return utf8.ValidString(text) && !slices.ContainsFunc(a.Args, func(arg string) bool { return !utf8.ValidString(arg) })
}

// maxWhy is the longest reason, in characters: it becomes one line of the ledger.
const maxWhy = 1000

// typedReason returns a reason on one line; empty when none was given.
func typedReason(a *app, words []string) (string, error) {
	text, err := typedWords(a, "reason", words)
	if err != nil {
		return "", err
	}
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case !isUTF8(a, text):
		err = role.Fail(role.Usage, errors.New("the reason is not UTF-8 text"), "")
	case utf8.RuneCountInString(text) > maxWhy:
		err = role.Fail(role.Usage, fmt.Errorf("the reason is longer than %d characters", maxWhy), "")
	}
	return text, err
}

// checkFeedback checks a person's feedback on an artefact: a text that approves is
// refused.
func checkFeedback(a *app, what, text, hint, approve string) error {
	if err := checkText(a, what, text, hint); err != nil {
		return err
	}
	if blackboard.VerdictOf(text) == blackboard.Approve {
		return role.Fail(role.Usage, fmt.Errorf("%s as a Review approves", strings.TrimSpace(text)), "%s", approve)
	}
	return nil
}

// refusal turns a refusal of the blackboard into an error with the refused action and
// the reason.
func refusal(what string, err error, hint string) error {
	var refused *blackboard.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	return role.Fail(role.Failed, fmt.Errorf("%s: %s", what, role.Clean(refused.Reason)), "%s", hint)
}

// whoHelp ends the help of the commands that record a person's name.
const whoHelp = "Who did it is recorded: SETT_USER, else the name of the operating system's user."

// humanArtefact is a person's artefact about another, which is its source.
func humanArtefact(a *app, st blackboard.StructuralType, about blackboard.Artefact, payload string) blackboard.Artefact {
	signed, id := blackboard.SignedBy(a.Who(), a.NewID()), a.NewID()
	return blackboard.Artefact{
		ID: id, LogicalID: id, Version: 1, StructuralType: st, Type: string(st), Payload: payload,
		SourceArtefacts: []string{about.ID}, ProducedByRole: blackboard.RoleHuman, WorkflowID: about.WorkflowID,
		Metadata: signed,
	}
}

// peoples are the commands that speak as a person.
var peoples = commands{"answer", "approve", "reject", "review", "cancel", "retry", "land", "leftovers drop", "ui", "board"}

// aPerson refuses a tool that speaks as a person, unless somebody confirms it on a
// terminal.
func aPerson(a *app) error {
	above, in := role.InTool(a.Env)
	if !in {
		return nil
	}
	ok := role.IsTerminal(a.Stdin)
	if ok {
		var err error
		ok, err = a.Confirm(fmt.Sprintf("This runs inside an agent's tool (%s). Are you a person, and do you want it?", role.Clean(above)), "")
		if err != nil && role.CodeOf(err) != role.Usage {
			return err
		}
	}
	if ok {
		return nil
	}
	return role.Fail(role.Usage, errors.New("a tool may not speak as a person: this runs inside an agent's tool ("+role.Clean(above)+")"),
		"type the command in a terminal of your own")
}

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

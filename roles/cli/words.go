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

// words returns a text that was typed as plain words; - alone reads it from standard
// input.
func (a *app) words(what string, words []string) (string, error) {
	if len(words) == 1 && words[0] == "-" {
		return a.readText(what, "-")
	}
	return strings.Join(words, " "), nil
}

// checkText is an error unless a text of a person's says something and can be kept.
func (a *app) checkText(what, text, hint string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return role.Fail(role.Usage, fmt.Errorf("the %s is empty", what), "%s", hint)
	case !a.isUTF8(text):
		return role.Fail(role.Usage, fmt.Errorf("the %s is not UTF-8 text", what), "%s", hint)
	case len(text) > maxText:
		return role.Fail(role.Usage, fmt.Errorf("the %s is larger than %d MiB", what, maxText>>20), "%s", hint)
	}
	return nil
}

// isUTF8 says whether a text is UTF-8, and was so when it was typed: what is not,
// the parser of the command line has mended silently.
func (a *app) isUTF8(text string) bool {
	return utf8.ValidString(text) && !slices.ContainsFunc(a.Args, func(arg string) bool { return !utf8.ValidString(arg) })
}

// maxWhy is how long a reason may be that becomes a line of the ledger, in
// characters.
const maxWhy = 1000

// why returns a reason on one line; empty when none was given.
func (a *app) why(words []string) (string, error) {
	text, err := a.words("reason", words)
	if err != nil {
		return "", err
	}
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case !a.isUTF8(text):
		err = role.Fail(role.Usage, errors.New("the reason is not UTF-8 text"), "")
	case utf8.RuneCountInString(text) > maxWhy:
		err = role.Fail(role.Usage, fmt.Errorf("the reason is longer than %d characters", maxWhy), "")
	}
	return text, err
}

// checkFeedback checks what a person has to say against an artefact: a text that
// approves says nothing against it.
func (a *app) checkFeedback(what, text, hint, approve string) error {
	if err := a.checkText(what, text, hint); err != nil {
		return err
	}
	if blackboard.VerdictOf(text) == blackboard.Approve {
		return role.Fail(role.Usage, fmt.Errorf("%s as a Review approves", strings.TrimSpace(text)), "%s", approve)
	}
	return nil
}

// refusal turns what the blackboard refused into an error that says what was not
// done and why, and nothing of how that is written.
func refusal(what string, err error, hint string) error {
	var refused *blackboard.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	return role.Fail(role.Failed, fmt.Errorf("%s: %s", what, clean(refused.Reason)), "%s", hint)
}

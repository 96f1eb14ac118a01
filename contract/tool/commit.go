package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"sett/blackboard"
	"sett/contract/config"
)

// changes is the result of a tool whose changes to its tree are to be committed. Its
// payload is set when the commit is known.
func changes(a config.Adapter, phase blackboard.Phase, end End) (Output, error) {
	if end.ExitCode != 0 {
		return Output{}, end.failed()
	}
	if phase == blackboard.PhaseReview {
		return Output{}, &ViolationError{Reason: "an agent with adapter: commit cannot review"}
	}
	kind := made(a)
	if kind == "" {
		kind = blackboard.TypeCodeCommit
	}
	return Output{StructuralType: blackboard.Standard, Type: kind, Summary: subject(end)}, nil
}

// subject sums up a tool's changes: the first line that it printed, else its command.
func subject(end End) string {
	const most = 4 << 10 // of stdout, that is read
	said := strings.ToValidUTF8(string(end.Stdout[:min(len(end.Stdout), most)]), "\ufffd")
	for line := range strings.Lines(said) {
		if line = oneLine(line); line != "" {
			return line
		}
	}
	return oneLine("ran " + strings.Join(end.Command, " "))
}

// oneLine makes a short line of a text, without control characters.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)), " ")
	if len(text) > mostComplaint {
		text = strings.ToValidUTF8(text[:mostComplaint], "") + "…"
	}
	return text
}

// CommitMessage is the message of a commit that Sett makes of a tool's changes, in the
// form of example-agent.md.
func CommitMessage(role, summary, claim string) string {
	return fmt.Sprintf("[sett-agent: %s] %s\n\nClaim-ID: %s", role, summary, claim)
}

// Committed is the output with the commit of the tool's changes. Embedded are folders of
// the tree that were repositories of their own, refused paths that git does not take, modules submodules with changes; the
// metadata names all.
func (o Output) Committed(hash string, embedded, refused, modules []string) (Output, error) {
	o.Payload, o.Commit = hash, hash
	var err error
	if len(embedded) > 0 {
		o, err = o.With("embedded_repositories", embedded)
	}
	if err == nil && len(refused) > 0 {
		o, err = o.With("refused_paths", refused)
	}
	if err == nil {
		o, err = o.Beside(modules)
	}
	return o, err
}

// Beside is the output of a tool that changed something in these submodules, which no commit
// has; its metadata names them.
func (o Output) Beside(modules []string) (Output, error) {
	if len(modules) == 0 {
		return o, nil
	}
	return o.With("changed_submodules", modules)
}

// With is the output with a further entry in its metadata.
func (o Output) With(name string, value any) (Output, error) {
	all := map[string]any{}
	if len(o.Metadata) > 0 {
		if err := json.Unmarshal(o.Metadata, &all); err != nil {
			return o, err
		}
	}
	all[name] = value
	var err error
	o.Metadata, err = json.Marshal(all)
	return o, err
}

// Changed settles an output whose commit is Changes: commit makes a commit of the tool's
// changes. A result that is no commit itself, as a CodeCommit or a declared type is, may be
// without any.
func (o Output) Changed(declared []string, commit func(Output) (Output, error)) (Output, error) {
	if o.StructuralType != blackboard.Standard && o.StructuralType != blackboard.Terminal {
		return o, &ViolationError{Reason: fmt.Sprintf("commit: a %s has no changes to commit", o.StructuralType)}
	}
	isCommit := o.Type == blackboard.TypeCodeCommit || slices.Contains(declared, o.Type)
	done, err := commit(o)
	var unchanged UnchangedError
	switch {
	case errors.As(err, &unchanged) && !isCommit:
		o.Commit = ""
		return o, nil
	case err == nil && !isCommit:
		done.Payload = o.Payload
	}
	return done, err
}

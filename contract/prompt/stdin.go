package prompt

import (
	"sett/contract/config"
)

// FormOf is the form in which a program with the adapter answers.
func FormOf(a config.Adapter) Form {
	switch a.Kind {
	case config.AdapterText:
		return FormText
	case config.AdapterCommit:
		return FormCommit
	}
	return FormJSON
}

// RoomFor is the room for a prompt to a model that takes so many tokens in all, of which
// its answer takes output and other texts take a few more; 0: not known.
func RoomFor(context, output int) int {
	if context <= 0 {
		return 0
	}
	return max(1000, context-output-Reserve)
}

// Reserve is the room that the descriptions of tools and the like take, in tokens.
const Reserve = 2000

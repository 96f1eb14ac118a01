package cub

import (
	"cmp"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/contract/prompt"
	"sett/contract/tool"
	"sett/roles/role"
)

// toolStdin is the text that the tool reads, from the contract's JSON.
func toolStdin(settings env.Cub, w *work, in tool.Input, contract []byte) []byte {
	if settings.Adapter.Stdin != config.StdinPrompt {
		return tool.Stdin(settings.Adapter, contract, w.Artefact)
	}
	t := prompt.Task{
		Role: settings.Role, Instructions: settings.PromptExecution, Input: in, Form: prompt.FormOf(settings.Adapter), Makes: settings.Adapter.Makes,
		Final: settings.Adapter.Terminal && w.Grant.Phase == blackboard.PhaseExclusive,
	}
	if w.tree != nil {
		t.Files = role.TreeFiles(settings.Workspace)
	}
	if l := settings.Asks.LLM; l != nil {
		t.Room = prompt.RoomFor(l.Context, cmp.Or(l.MaxOutput, env.DefaultMaxOutput))
	}
	p := prompt.New(t)
	if w.left = p.Left; len(p.Left) > 0 {
		w.log.Warn("left out of the prompt, which is longer than the model's context", "parts", p.Left)
	}
	return []byte(p.Text())
}

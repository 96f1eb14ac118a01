package demo

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"

	"sett/agents"
)

// ModelsName is the name of the repository of `sett demo --models`, with a clan of models.
// ModelsGoal is the goal that its recording has the answers for.
const (
	ModelsName = "greetings"
	ModelsGoal = "Add bin/greet, which greets the person that it is given."
)

//go:embed all:models
var models embed.FS

// modelsHead begins the repository's sett.yml; the agents of the example llm-clan follow.
const modelsHead = `# A clan of models, that of sett init --example llm-clan. Its agents have a prompt and no program: they are sett llm.
version: "1.0"
runtime: process

models:
  recorded: {api: messages, model: recorded, replay: ../recording, context: 200k, price: {input: 3, cached: 0.3, cache_write: 3.75, output: 15}}

budget: {cost: 1, calls: 60} # of each goal

agents:
`

// WriteModels copies the repository into a directory, which must exist, and the recording
// into the folder beside it that the repository's sett.yml names.
func WriteModels(dir string) error {
	recording := filepath.Join(filepath.Dir(dir), "recording")
	if err := os.Mkdir(recording, 0o755); err != nil {
		return err
	}
	for from, to := range map[string]string{"models/repo": dir, "models/recording": recording} {
		sub, err := fs.Sub(models, from)
		if err == nil {
			err = write(sub, to)
		}
		if err != nil {
			return err
		}
	}
	clan, err := agents.Example("llm-clan", "recorded")
	if err != nil {
		return err
	}
	for _, name := range []string{"Dockerfile", "Dockerfile.dockerignore"} { // where agents run in containers
		text, err := agents.Examples.ReadFile("examples/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "agents", "examples", name), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "sett.yml"), []byte(modelsHead+agents.Indented(clan, "  ")), 0o644)
}

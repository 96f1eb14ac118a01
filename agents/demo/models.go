package demo

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
)

// ModelsName is the name of the repository of `sett demo --models`, with a clan of models.
// ModelsGoal is the goal that its recording has the answers for.
const (
	ModelsName = "greetings"
	ModelsGoal = "Add bin/greet, which greets the person that it is given."
)

//go:embed all:models
var models embed.FS

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
	return nil
}

package toolrun

import (
	"fmt"
	"os"
	"slices"

	"sett/contract/config"
)

// OwnProgram puts the running sett in the place of the word sett, where a command is `sett llm`.
// Any other command is as it was.
func OwnProgram(command []string) ([]string, error) {
	if !slices.Equal(command, config.LLMCommand()) {
		return command, nil
	}
	own, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the sett binary: %w", err)
	}
	return append([]string{own}, command[1:]...), nil
}

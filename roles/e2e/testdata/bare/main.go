// Bare is a tool in an image that has nothing else: no shell and no git. It prints the
// names of the files in its tree, after it wrote one more. It fails where its goal says so.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	before, err := filepath.Glob("*")
	if err != nil {
		return err
	}
	goal := os.Getenv("SETT_TARGET_PAYLOAD")
	if err := os.WriteFile("made", []byte(goal+"\n"), 0o644); err != nil {
		return err
	}
	if goal == "fail" {
		return fmt.Errorf("failed with %v", before)
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"structural_type": "Terminal", "artefact_type": "Found", "artefact_payload": before, "summary": "looked",
	})
}

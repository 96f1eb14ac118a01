// Package config is sett.yml: its types, defaults and validation. It turns the text
// of the file into a complete Config, or into a list of all its errors, each with its
// place, its line and a hint.
//
// It reads no file, no environment and no clock: variables that an agent
// inherits are named in the result, not looked up. Paths stay as they were
// written.
//
// The file is described in sett-system.md, "The sett.yml configuration file".
// Anchors, aliases and merge keys (<<) of YAML work; tags other than the core
// ones, a second document and unknown keys are errors.
//
// Each key is described once, in a list of fields (file.go and agent.go): its decoder,
// its part of the JSON Schema and its printed form come from there, so they cannot
// differ.
//
// A resolved Config survives encoding/json unchanged; the orchestrator gets it so.
// Durations are strings there, as in sett.yml.
package config

// Package config is sett.yml: its types, defaults and validation. It turns the
// text of the file into a Config in which nothing is left to be decided, or into
// a list of everything that is wrong with it, each with its place, the line it
// stands on and what to do about it.
//
// It reads no file, no environment and no clock: variables that an agent
// inherits are named in the result, not looked up. Paths stay as they were
// written.
//
// The file is described in sett-system.md, "The sett.yml configuration file".
// Anchors, aliases and merge keys (<<) of YAML work; tags other than the core
// ones, a second document and keys that nothing implements are errors.
//
// Each key is described once, in the list of fields that has it (file.go and
// agent.go): its decoder, its part of the JSON Schema and how it is printed come
// from there, so that a key that one of them knows the others know, too.
//
// A resolved Config survives encoding/json unchanged; that is how it is handed
// to the orchestrator. Durations are strings there, as in sett.yml.
package config

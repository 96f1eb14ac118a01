// Package instance finds the instance that a command means, and opens its parts:
// workspace, sett.yml, state directory, the place where its units run, its blackboard.
// It is the one package of the CLI that chooses implementations: the blackboard is
// Redis, the place is Docker or this machine's processes. It starts no part of an
// instance.
package instance

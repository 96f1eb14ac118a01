//go:build !linux

package role

// toolRunner finds nothing: this system shows no processes in /proc.
func toolRunner(string) (pid int, name string, found bool) { return 0, "", false }

// claimOf finds nothing, either.
func claimOf(string) string { return "" }

//go:build !linux

package role

// toolRunner finds nothing: this system shows no processes in /proc.
func toolRunner() (pid int, args []string, found bool) { return 0, nil, false }

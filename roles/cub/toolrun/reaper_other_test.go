//go:build unix && !linux

package toolrun

// leftBehind cannot know: what a tool leaves does not fall to this process here.
func leftBehind() string { return "" }

// playRole: the tests that need helper processes are for Linux.
func playRole(string) int { return 1 }

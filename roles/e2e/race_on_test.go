//go:build race

package e2e

// buildFlags build the binary under test as this test was built.
var buildFlags = []string{"-race"}

// Package e2e holds the end-to-end suites. They start the real binary as users do,
// kill it at every write, break its surroundings, and compare the outcome with an
// undisturbed run. The package has tests only.
package e2e

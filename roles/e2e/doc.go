// Package e2e holds the end-to-end suites that prove what must hold: the real
// binary, started as users start it, killed at every write it makes and hurt in
// every way that was thought of, and then compared with how it would have ended.
// There is nothing in it but tests.
package e2e

//go:build unix && !linux

package toolrun

// ownScratch: there are no containers here.
func ownScratch() *scratch { return nil }

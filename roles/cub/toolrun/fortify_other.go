//go:build unix && !linux

package toolrun

// Fortify does nothing here: there are no containers.
func Fortify() {}

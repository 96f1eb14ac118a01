//go:build !linux

package doctor

// mostThreads is how many threads this user may have. Elsewhere the limit counts processes, of which Sett needs few.
func mostThreads() (n uint64, limited bool) { return 0, false }

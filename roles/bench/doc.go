// Package bench measures Sett against the floor: the bare chain of script calls
// and notices that any system of this shape needs, in the same run on the same
// server. Absolute times do not travel; ratios do. It holds only tests, behind
// the build tag bench: make bench.
package bench

// Package landing brings the commit of a result to a branch of the user's. It looks,
// makes a plan that can be shown, and does it. No program that the repository's own
// configuration names is run, no hook either: an agent may have written them.
package landing

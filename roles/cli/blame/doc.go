// Package blame names the writers of the lines of a file: from a line to the commit that wrote
// it, from there to the artefact that brought the commit, and to the artefact's agent,
// reviewers, goal and cost. A commit of no artefact is a person's.
//
// Git names the commits. No program that the repository's own configuration names is run.
package blame

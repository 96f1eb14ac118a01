// Package pin takes a clan's own programs out of the working tree, so that agents run
// them as they were at sett up: whatever a tool changes in its tree reaches no other
// agent's program.
//
// A pinned set has the programs that commands name in the repository, below its root with
// all other files of their folders, and the files and folders of `pin:` in sett.yml. It
// keeps their relative layout, so that a program finds its helpers beside itself. Links
// stay links, and lead nowhere but to other files of the set; .git and __pycache__ stay
// out. Of a set's bytes follows its digest, and with it its directory: an agent that was
// started with one never sees another.
//
// The words of a command that name programs are found by contract/config.
package pin

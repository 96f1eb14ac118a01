package cli

import (
	"fmt"

	"sett/roles/role"
)

// leftOut collects the errors of records that a list goes on without. Others are
// shown all the same, and the command ends as one that failed: who reads the list
// must not take it for the whole.
type leftOut []error

// add takes the error of a record; nil is none.
func (l *leftOut) add(err error) {
	if err != nil {
		*l = append(*l, err)
	}
}

// failure is what the command ends with when it has printed the others.
func (l leftOut) failure() error {
	switch len(l) {
	case 0:
		return nil
	case 1:
		return role.Fail(role.Failed, fmt.Errorf("a record cannot be read and is left out: %w", l[0]), "")
	}
	return role.Fail(role.Failed, fmt.Errorf("%d records cannot be read and are left out, the first: %w", len(l), l[0]), "")
}

package term

import (
	"fmt"

	"sett/roles/role"
)

// LeftOut collects the errors of records that a list leaves out. The command prints the
// other records and then fails, so that nobody takes the list for complete.
type LeftOut []error

// Add adds the error of a record; nil adds nothing.
func (l *LeftOut) Add(err error) {
	if err != nil {
		*l = append(*l, err)
	}
}

// Failure is the error of the command after it has printed the other records; nil if no
// record was left out.
func (l LeftOut) Failure() error {
	switch len(l) {
	case 0:
		return nil
	case 1:
		return role.Fail(role.Failed, fmt.Errorf("a record cannot be read and is left out: %w", l[0]), "")
	}
	return role.Fail(role.Failed, fmt.Errorf("%d records cannot be read and are left out, the first: %w", len(l), l[0]), "")
}

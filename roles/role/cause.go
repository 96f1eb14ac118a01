package role

import (
	"errors"
	"io/fs"
)

// Cause strips the operation and the path from an error of package os, for messages
// that name them already.
func Cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

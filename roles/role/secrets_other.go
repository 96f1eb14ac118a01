//go:build unix && !linux

package role

import (
	"errors"
	"fmt"
	"os"
)

// Hide returns errors.ErrUnsupported: there is no such protection here.
func Hide() error {
	return fmt.Errorf("make process non-dumpable: %w", errors.ErrUnsupported)
}

// ScrubEnv removes the named variables from the environment. The copy that the
// kernel keeps cannot be overwritten here.
func ScrubEnv(names ...string) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, os.Unsetenv(name))
	}
	return errors.Join(errs...)
}

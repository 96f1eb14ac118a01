//go:build unix && !linux

package role

import (
	"errors"
	"time"
)

// giveUpAfter is not supported here: only containers change their addresses.
func giveUpAfter(int, time.Duration) error { return errors.ErrUnsupported }

//go:build unix && !linux

package toolrun

import (
	"errors"
	"fmt"
)

// withoutNetwork fails: nothing here keeps one process off the network.
func withoutNetwork(func()) error {
	return fmt.Errorf("keep it off the network: %w: only Linux can", errors.ErrUnsupported)
}

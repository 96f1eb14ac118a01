//go:build !linux

package confine

// Level returns 0: only Linux has Landlock.
func Level() int { return 0 }

// Thread returns ErrUnsupported.
func (Rules) Thread() error { return ErrUnsupported }

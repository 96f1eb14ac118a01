//go:build unix && !linux

package toolrun

import "sett/roles/role"

// Protect is role.Hide.
func Protect() error { return role.Hide() }

//go:build !linux

package ui

import "net/netip"

// refusal refuses nobody: this system does not show the user of a connection to all.
func refusal(netip.AddrPort, netip.AddrPort, []int) string { return "" }

package main

import "unsafe"

// address is where the bytes are, for the kernel.
func address(b *[128]byte) uintptr { return uintptr(unsafe.Pointer(b)) }

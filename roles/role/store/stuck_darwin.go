package store

// mountsBelow finds none here.
func mountsBelow(string) mounts { return nil }

// immutable finds none here.
func immutable(string) bool { return false }

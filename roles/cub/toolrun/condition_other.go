//go:build unix && !linux

package toolrun

// condition is not looked at here: there are no containers.
type condition struct{}

func ownCondition() *condition { return nil }

func (c *condition) note() {}

func (c *condition) restore() string { return "" }

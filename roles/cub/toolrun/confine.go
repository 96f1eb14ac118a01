package toolrun

// confineError means that a tool did not start, since it cannot be confined.
type confineError struct{ cause error }

func (e *confineError) Error() string { return "confine it: " + e.cause.Error() }

func (e *confineError) Unwrap() error { return e.cause }

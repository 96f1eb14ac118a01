package image

import (
	"errors"
	"regexp"
	"strings"
	"sync"
)

// Fault is the kind of reason why an image cannot be provided. Each has another remedy.
type Fault int

// The faults.
const (
	FaultPull       Fault = iota // no registry gave it
	FaultFiles                   // of a build: its context or its Dockerfile cannot be read
	FaultDockerfile              // the engine cannot read the Dockerfile
	FaultBuildKit                // the Dockerfile wants the engine's other builder
	FaultBase                    // no registry gave an image that it is built on
	FaultStep                    // a step failed
)

// faultError is an error with its fault.
type faultError struct {
	error
	fault Fault
}

func (e *faultError) Unwrap() error { return e.error }

func faulty(f Fault, err error) error {
	if err == nil {
		return nil
	}
	return &faultError{err, f}
}

func faultOf(err error) Fault {
	var e *faultError
	if errors.As(err, &e) {
		return e.fault
	}
	return FaultPull
}

// Options of instructions that only BuildKit knows, as the classic builder refuses them,
// and the beginning of a text within a Dockerfile (heredoc). The builder takes its lines
// for instructions.
var (
	newOption = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)requires BuildKit|unknown flag: (mount|network|security|device|link|parents|exclude|chmod|checksum|keep-git-dir|unpack)\b|failed to parse platform`)
	})
	textWithin = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?im)^\s*(RUN|COPY|ADD)\s.*<<-?\s*["']?[A-Z_]`) })
)

// wantsBuildKit says whether the classic builder's error is about a part of the Dockerfile
// that only BuildKit knows.
func (d dockerfile) wantsBuildKit(reason string) bool {
	return newOption().MatchString(reason) ||
		strings.Contains(strings.ToLower(reason), "unknown instruction") && textWithin().Match(d.text)
}

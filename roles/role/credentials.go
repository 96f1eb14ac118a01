package role

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"sett/contract/env"
)

// Unit is a role whose starter may have passed the variables of env.Secret through a
// descriptor. The role finds them in its Env. The process's own environment does not get
// them, so its children do not inherit them.
func Unit(run func(context.Context, Env) error) func(context.Context, Env) error {
	return func(ctx context.Context, e Env) error {
		e, err := withCredentials(e)
		if err != nil {
			return err
		}
		return run(ctx, e)
	}
}

// withCredentials reads the pipe, if there is one.
func withCredentials(e Env) (Env, error) {
	number := e.Getenv(env.Credentials)
	if number == "" {
		return e, nil
	}
	fd, err := strconv.Atoi(number)
	if err != nil || fd < 3 {
		return e, Fail(Usage, fmt.Errorf("%s is %q; want the number of an open descriptor", env.Credentials, number), "")
	}
	pipe := os.NewFile(uintptr(fd), "credentials")
	text, err := io.ReadAll(pipe)
	if err = errors.Join(err, pipe.Close(), os.Unsetenv(env.Credentials)); err != nil {
		return e, Fail(Environment, fmt.Errorf("read credentials: %w", err), "")
	}
	_, secret := env.SplitSecrets(strings.Split(string(text), "\x00"))
	lookup, environ := e.Lookup, e.Environ
	e.Lookup = func(name string) (string, bool) {
		for _, v := range secret {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value, true
			}
		}
		return lookup(name)
	}
	e.Environ = func() []string { return slices.Concat(env.WithoutSecrets(environ()), secret) }
	return e, nil
}

// Secluded is a role with a process that keeps memory, environment and descriptors from
// other processes of the same user.
func Secluded(run func(context.Context, Env) error) func(context.Context, Env) error {
	return func(ctx context.Context, e Env) error {
		if err := Hide(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return Fail(Environment, fmt.Errorf("protect credentials: %w", err), "")
		}
		return run(ctx, e)
	}
}

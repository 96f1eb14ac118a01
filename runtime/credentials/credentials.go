// Package credentials hands secrets to a process that is started, through a pipe. The process
// reads them with role.Unit. Which variables are secret is said in contract/env.
package credentials

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"sett/contract/env"
)

// atOnce is the most bytes that a pipe surely takes before anybody reads it.
const atOnce = 4096

// inheritedFD is the number of a command's first extra file in the new process.
const inheritedFD = 3

// Pass gives the command the variables of env.Secret through a pipe, and the
// others of environ as its environment: /proc shows the environment of a process to
// every process of its user. The returned function closes the pipe here; call it after
// the start.
func Pass(cmd *exec.Cmd, environ []string) (closePipe func(), err error) {
	rest, secret := env.SplitSecrets(environ)
	cmd.Env = rest
	if len(secret) == 0 {
		return func() {}, nil
	}
	text := strings.Join(secret, "\x00") + "\x00"
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pass credentials: %w", err)
	}
	fill := func() error {
		_, err := write.WriteString(text)
		return errors.Join(err, write.Close())
	}
	if len(text) > atOnce {
		go func() { _ = fill() }() // the process reads them first of all, or has ended
	} else if err := fill(); err != nil {
		return nil, errors.Join(fmt.Errorf("pass credentials: %w", err), read.Close())
	}
	cmd.ExtraFiles = []*os.File{read}
	cmd.Env = append(cmd.Env, env.Credentials+"="+strconv.Itoa(inheritedFD))
	return func() { _ = read.Close() }, nil
}

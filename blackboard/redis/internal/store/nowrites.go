package store

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// noWrites are the codes by which a server that answers reads refuses writes.
var noWrites = []string{"MISCONF", "NOREPLICAS", "OOM", "READONLY"}

// NoWrites returns the server's refusal to write as an error of its own; nil: the error
// is another one.
func (c *Conn) NoWrites(err error) *blackboard.NoWritesError {
	var re *rueidis.RedisError
	if !errors.As(err, &re) {
		return nil
	}
	word := code(re.Error())
	if !slices.Contains(noWrites, word) {
		return nil
	}
	// A script's error has the place in the script around it.
	_, why, _ := strings.Cut(re.Error(), word)
	why, _, _ = strings.Cut(word+why, " script: ")
	why, _, _ = strings.Cut(why, ". ")
	return &blackboard.NoWritesError{Addr: c.Addr, Why: strings.TrimRight(why, ".")}
}

// Once makes one move, and never repeats it.
func (c *Conn) Once(ctx context.Context, name string, args ...string) (Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Options.Timeout)
	defer cancel()
	rs, err := c.call(ctx, []Move{{name, args}})
	if err != nil {
		return Reply{}, plain(ctx, c, err)
	}
	return rs[0], nil
}

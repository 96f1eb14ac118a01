package redis

import (
	"context"
	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
	"strings"
)

// Roster reads which agents, workers and leader there are, and the users of the
// workspace.
type Roster struct{ c *store.Conn }

// Leader returns the present or the last leader; none when the record cannot be read.
func (b Roster) Leader(ctx context.Context) (blackboard.Leader, error) {
	s, err := b.c.Text(ctx, "read leader", "GET", b.c.Keys.Leader())
	holder, deadline, _ := strings.Cut(s, " ")
	until, wrong := store.ParseMicros(deadline)
	if wrong != nil {
		return blackboard.Leader{}, err
	}
	return blackboard.Leader{Holder: holder, Until: until}, err
}

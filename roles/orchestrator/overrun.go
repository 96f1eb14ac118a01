package orchestrator

import (
	"context"

	"sett/blackboard"
	"sett/roles/role"
)

// overran takes note of a script that was ended on the blackboard. What does not fit is
// in the log only.
func (o *orchestrator) overran(script blackboard.Overrun) {
	o.log.Error("a script without an end was ended on the blackboard", "client", script.Client(), "user", script.User,
		"agent", script.Agent, "reason", script.Reason())
	select {
	case o.overruns <- script:
	default:
	}
}

func (o *orchestrator) overrunStays(err error) {
	o.log.Error("the blackboard answers nobody: a script on it runs without an end", "error", err)
}

// tellOverruns puts ended scripts into the ledger, and ends the agents that ran them.
func (t *term) tellOverruns(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case script := <-t.overruns:
			if script.Agent != "" && t.staff != nil {
				t.staff.end(ctx, script.Agent, "its script on the blackboard had no end")
			}
			for id := t.env.NewID(); ; role.Pause(ctx, t.pace.retry) {
				err := t.board.NoteOverrun(ctx, t.lead.Epoch, id, script)
				if ctx.Err() != nil || over(err) {
					return err
				}
				if err == nil {
					break
				}
				t.log.Warn("ended script not recorded", "error", err)
			}
		}
	}
}

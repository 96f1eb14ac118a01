package deploy

import (
	"context"
	"fmt"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role/words"
	"sett/roles/view"
)

// untold are the events that notify has not told yet.
type untold struct {
	count  int
	more   bool // there may be more than were counted
	oldest string
}

// untoldPage is how many entries of the ledger are read at once, and untoldPages how often: the notifier
// stores its position often, so that few entries come after it, unless its command fails for days.
const untoldPage, untoldPages = 500, 10

// untoldOf counts them on a blackboard that answers at once; elsewhere there are none to speak of.
func untoldOf(ctx context.Context, at *instance.Locator, in *instance.Instance, c *config.Config) (u untold) {
	if c.Notify == nil {
		return u
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	b, err := in.Glance(ctx, at.Terminal, "sett-down")
	if err != nil {
		return u
	}
	defer b.Close()
	from, err := b.Ledger.Notified(ctx)
	if err != nil || from == "" { // no notifier has run
		return u
	}
	for range untoldPages {
		page, err := b.Ledger.History(ctx, from, untoldPage)
		if err != nil {
			return u
		}
		for _, e := range page {
			if from = e.ID; e.Tells() {
				if u.count++; u.count == 1 {
					u.oldest = oldest(e, at.Now())
				}
			}
		}
		if len(page) < untoldPage {
			return u
		}
	}
	u.more = true
	return u
}

// oldest names an event and its age.
func oldest(e blackboard.Event, now time.Time) string {
	about := "that goal %s waits for a person"
	if status := e.GoalEnded(); status != "" {
		about = "that goal %s is " + string(status)
	}
	return fmt.Sprintf(about+", %s ago", words.Short(e.Workflow), view.AgeOf(view.AgeSeconds(now, e.Time)))
}

func (u untold) String() string {
	least := ""
	if u.more {
		least = "at least "
	}
	were := "were"
	if u.count == 1 {
		were = "was"
	}
	return fmt.Sprintf("%s%s %s not told to notify (oldest: %s)", least, words.Count(u.count, "event"), were, u.oldest)
}

package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Leftover is a commit with the changes of a tool that failed or was stopped.
type Leftover struct {
	Claim, Agent string
	Attempt      int
	Commit       string
	At           time.Time // when it was kept
}

const leftoverRefs = "refs/sett/leftovers/"

// Ref is the ref that holds the leftover.
func (l Leftover) Ref() string {
	return fmt.Sprintf("%s%s/%s-%d", leftoverRefs, l.Claim, l.Agent, l.Attempt)
}

// Leftovers returns the repository's leftovers, oldest first. Refs of another form are
// left out.
func (g Repository) Leftovers(ctx context.Context) ([]Leftover, error) {
	out, err := g.Run(ctx, "for-each-ref", "--sort=committerdate", "--format=%(objectname) %(objecttype) %(committerdate:unix) %(refname)", leftoverRefs)
	if err != nil {
		return nil, err
	}
	var all []Leftover
	for line := range strings.Lines(out) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if len(fields) < 4 || fields[1] != "commit" {
			continue
		}
		claim, run, _ := strings.Cut(strings.TrimPrefix(fields[3], leftoverRefs), "/")
		at := strings.LastIndexByte(run, '-')
		if at <= 0 {
			continue
		}
		seconds, _ := strconv.ParseInt(fields[2], 10, 64)
		l := Leftover{Claim: claim, Agent: run[:at], Commit: fields[0], At: time.Unix(seconds, 0).UTC()}
		if l.Attempt, err = strconv.Atoi(run[at+1:]); err == nil && l.Ref() == fields[3] {
			all = append(all, l)
		}
	}
	return all, nil
}

// DropLeftovers removes the refs of leftovers, unless they hold another commit by now.
func (g Repository) DropLeftovers(ctx context.Context, all []Leftover) error {
	var removals []string
	for _, l := range all {
		removals = append(removals, fmt.Sprintf("delete %s %s", l.Ref(), l.Commit))
	}
	_, err := g.Feed(ctx, lines(removals), "update-ref", "--stdin")
	return err
}

package git

import (
	"context"
	"strconv"
	"strings"
	"time"

	"sett/roles/role"
)

// LandWords begin the reflog's message of a landing.
const LandWords = "sett land: "

// Move is a move of a branch that the reflog tells.
type Move struct {
	From, To string // the commits; From is empty: the branch had none, or the reflog does not tell
	By       string
	At       time.Time
	How      string // the message between LandWords and the ending that was looked for
}

// mostMoves is how many entries of a reflog are read, the newest ones.
const mostMoves = 5000

// LandMove returns the newest landing on a branch whose message in the reflog has this ending; nil: it tells of none.
func LandMove(ctx context.Context, g Repository, branch, ending string) *Move {
	out, err := g.Run(ctx, "log", "-g", "-z", "-n", strconv.Itoa(mostMoves), "--date=unix", "--format=%H%n%gn%n%gd%n%gs", BranchRef(branch), "--")
	if err != nil {
		return nil // it has none
	}
	moves := fields0(out) // newest first
	for i, move := range moves {
		parts := strings.SplitN(move, "\n", 4)
		if len(parts) < 4 {
			continue
		}
		how, is := strings.CutPrefix(parts[3], LandWords)
		if !is || !strings.HasSuffix(how, ending) {
			continue
		}
		_, at, _ := strings.Cut(parts[2], "@{")
		seconds, err := strconv.ParseInt(strings.TrimSuffix(at, "}"), 10, 64)
		if err != nil {
			return nil
		}
		m := &Move{To: parts[0], By: role.Clean(parts[1]), At: time.Unix(seconds, 0), How: strings.TrimSuffix(how, ending)}
		if i+1 < len(moves) {
			m.From, _, _ = strings.Cut(moves[i+1], "\n")
		}
		return m
	}
	return nil
}

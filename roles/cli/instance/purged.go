package instance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sett/contract/config"
	"sett/contract/env"
)

// A purge also removes a ledger that other state directories of the same user know, as
// with another XDG_STATE_HOME. Theirs is not lost then. So purges are noted in the one
// place that such directories share.

// mostPurges is how many purges are noted; the oldest are forgotten.
const mostPurges = 100

// UserPath is the path of a file in the user's configuration directory; empty: this user
// has none.
func UserPath(getenv func(string) string, name string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the XDG specification ignores others
		home := env.Home(getenv)
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "sett", name)
}

const purgesFile = "purged.json"

// ledgerPlace names the place of a ledger outside the instance's directory; empty: it is
// inside.
func (in *Instance) ledgerPlace() string {
	switch {
	case in.External:
		return fmt.Sprintf("%s on %s", in.Name, Redact(in.URL))
	case in.Runtime == config.RuntimeDocker:
		return in.Name + " on the engine"
	}
	return ""
}

// OtherLedger names the ledger of the other runtime that a purge removes as well; empty: there is none. An engine that
// does not answer may have one.
func OtherLedger(ctx context.Context, l *Locator, in *Instance) string {
	switch {
	case in.Runtime == config.RuntimeDocker:
		if Exists(boardFolder(in)) {
			return "the ledger that it has in local mode"
		}
	case in.OnEngine:
		if kept, err := KeptOnEngine(ctx, l, in); err != nil || kept.Ledger {
			return "the ledger that it has on the container engine"
		}
	}
	return ""
}

// NotePurge notes that the instance's ledger is removed on purpose.
func (in *Instance) NotePurge(getenv func(string) string, now time.Time) error {
	path, place := UserPath(getenv, purgesFile), in.ledgerPlace()
	if path == "" || place == "" {
		return nil
	}
	all := map[string]time.Time{}
	_ = ReadFile(path, &all) // a broken one begins anew
	all[place] = now.UTC()
	for len(all) > mostPurges {
		oldest := place
		for other, at := range all {
			if at.Before(all[oldest]) {
				oldest = other
			}
		}
		delete(all, oldest)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("note the removal: %w", err)
	}
	return WriteFile(path, all)
}

// NoteOtherPurge notes the same of the ledger that an instance of local mode had on the container engine.
func NoteOtherPurge(in *Instance, getenv func(string) string, now time.Time) error {
	return contained(in).NotePurge(getenv, now)
}

// Purged says whether the instance's ledger was removed on purpose since it was seen.
func (in *Instance) Purged(getenv func(string) string) bool {
	path, place := UserPath(getenv, purgesFile), in.ledgerPlace()
	if path == "" || place == "" {
		return false
	}
	var all map[string]time.Time
	seen, err := os.Stat(in.marksPath())
	return err == nil && ReadFile(path, &all) == nil && all[place].After(seen.ModTime())
}

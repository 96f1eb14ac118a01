package term

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sett/roles/role"
)

// Clock shows a time of day in the user's zone, with the date unless it is today.
func (t *Terminal) Clock(at time.Time) string {
	at, now := at.Local(), t.Now().Local()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04:05.000")
	}
	return at.Format("2006-01-02 15:04:05.000")
}

// Seconds is a time of day as Clock shows it, to the second.
func Seconds(clock string) string {
	text, _, _ := strings.Cut(clock, ".")
	return text
}

// Since reads the value of --since: a duration before now (10m, 2h, 30d), a time
// (RFC 3339), a date, a date and time, or a time of today. Empty is the zero time.
func (t *Terminal) Since(s string) (time.Time, error) { return t.When("--since", s) }

// When reads a time as Since does, for the flag that its error names.
func (t *Terminal) When(flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d < 0 {
		return time.Time{}, role.Fail(role.Usage, fmt.Errorf("%s: %s is negative", flag, s), "a duration such as 10m counts back from now")
	} else if err == nil {
		return t.Now().Add(-d), nil
	}
	if days, err := strconv.ParseUint(strings.TrimSuffix(s, "d"), 10, 16); err == nil && strings.HasSuffix(s, "d") {
		return t.Now().AddDate(0, 0, -int(days)), nil //nolint:gosec // it has 16 bits
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	for _, layout := range []string{time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	today := t.Now().Local().Format(time.DateOnly)
	for _, layout := range []string{time.DateTime, "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, today+" "+s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, role.Fail(role.Usage, fmt.Errorf("%s: cannot read %q", flag, role.Clean(s)),
		"a duration such as 10m, 2h or 30d, or a time such as 15:04 or 2006-01-02T15:04:05Z")
}

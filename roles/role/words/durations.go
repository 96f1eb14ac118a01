package words

import (
	"fmt"
	"strconv"
	"time"
)

// Took says how long a tool ran, when that is known.
func Took(us string) string {
	n, err := strconv.ParseInt(us, 10, 64)
	if err != nil || n <= 0 {
		return ""
	}
	return " (" + Span(time.Duration(n)*time.Microsecond) + ")"
}

// Age says roughly how long something has been: 12s, 3m, 2h, 5d. Nothing for
// less than nothing, as clocks may differ.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(d, 0)/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// Span says how long something took: 85ms, 1.2s, 3m4s.
func Span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", max(d, 0).Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

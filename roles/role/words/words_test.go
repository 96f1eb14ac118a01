package words

import (
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 12*time.Second + 900*time.Millisecond: "12s", 3*time.Minute + 50*time.Second: "3m",
		2*time.Hour + time.Minute: "2h", 47 * time.Hour: "47h", 5*24*time.Hour + time.Hour: "5d",
	} {
		if got := Age(d); got != want {
			t.Errorf("age(%v) = %s, want %s", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		85 * time.Millisecond: "85ms", 1234 * time.Millisecond: "1.2s", 184*time.Second + 300*time.Millisecond: "3m4s", -1: "0ms",
	} {
		if got := Span(d); got != want {
			t.Errorf("span(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"äöü", 3, "äöü"}, {"äöüß", 3, "äö…"}, {"ab cd", 4, "ab…"}, {"abc", 0, "…"}} {
		if got := Shorten(c.in, c.n); got != c.want {
			t.Errorf("shorten(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

package role

import (
	"log/slog"
	"strings"
	"time"

	"sett/contract/env"
)

// Logger returns the role's logger on stderr: JSON, one object a line, or text on
// a terminal. SETT_LOG_FORMAT and SETT_LOG_LEVEL override.
func (e Env) Logger(role string) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(e.Getenv(env.LogLevel))); err != nil {
		level = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: utc}
	text := IsTerminal(e.Stderr)
	switch strings.ToLower(e.Getenv(env.LogFormat)) {
	case "json":
		text = false
	case "text":
		text = true
	}
	var h slog.Handler = slog.NewJSONHandler(e.Stderr, o)
	if text {
		h = slog.NewTextHandler(e.Stderr, o)
	}
	return slog.New(h).With("component", role)
}

// utc writes times in UTC, so that logs of several machines sort.
func utc(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case time.Time:
		a.Value = slog.TimeValue(v.UTC())
	case time.Duration:
		a.Value = slog.StringValue(v.String())
	}
	return a
}

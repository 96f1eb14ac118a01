package deploy

// This file has the last words of a part that fails.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"sett/roles/cli/logline"
	"sett/runtime"
	"sett/runtime/logfile"
)

// lastLines is how much of a log an error shows.
const lastLines = 8

// failed is the error about a part, with the last lines of its log: those of its newest run, which began at
// this time or later; the zero time: it is not known. For a part without a log these are the orchestrator's about it.
func (j *job) failed(ctx context.Context, part, what string, since time.Time) error {
	text := part + ": " + what
	unit, about := part, func(l logline.Line) bool { return strings.HasPrefix(l.Msg, part+" ") }
	if _, ok := j.c.Agent(part); ok {
		unit, about = runtime.AgentUnit(part), func(l logline.Line) bool {
			return slices.Contains(l.Attrs, logline.Attribute{Key: "agent", Value: part, Quoted: true})
		}
	}
	every := func(logline.Line) bool { return true }
	lines, unread := j.logged(ctx, unit, runtime.LogOptions{Lines: -1, Since: j.began}, every)
	lines = newestRun(lines, since)
	if len(lines) == 0 && unread == nil {
		lines, unread = j.logged(ctx, unit, runtime.LogOptions{Lines: logfile.TraceLines}, every)
		lines = lastWords(lines)
	}
	if len(lines) == 0 {
		lines, _ = j.logged(ctx, runtime.ComponentOrchestrator, runtime.LogOptions{Lines: -1, Since: j.began}, func(l logline.Line) bool {
			return (l.Level == "ERROR" || l.Level == "WARN") && about(l)
		})
		lines = lines[max(0, len(lines)-1):] // it says the same with every attempt
	}
	switch {
	case len(lines) > 0:
	case unread != nil && !errors.Is(unread, fs.ErrNotExist):
		return fmt.Errorf("%s (its log could not be read: %w)", text, unread)
	default:
		return fmt.Errorf("%s (it logged nothing)", text)
	}
	for _, line := range lines {
		text += "\n" + line.Show(j.at.Terminal, false)
	}
	return errors.New(text)
}

// lastWords are the error with which a part ended, at the end of its log, and its hint. They
// have no time, and pass for as old as the line before them, of an earlier start perhaps.
func lastWords(lines []logline.Line) []logline.Line {
	for i := len(lines) - 1; i >= 0 && lines[i].Level == ""; i-- {
		switch {
		case isCrash(lines[i]):
			return crash(lines, i)
		case isError(lines[i]):
			return lines[i:]
		}
	}
	return nil
}

// newestRun returns the last lines of a part that ended again and again: those of its newest run that has
// ended, which began at this time or later, and, as far as there is room, those of the run after it. A line
// without a time is as old as the line before it, or newer: between two runs of such lines alone stands the
// error with which the first one ended.
func newestRun(lines []logline.Line, since time.Time) []logline.Line {
	begin := 0
	for i, l := range lines {
		if l.Level != "" && l.Time.Before(since) {
			begin = i + 1
		}
	}
	for begin > 0 && begin < len(lines) && lines[begin].Level == "" && !isError(lines[begin]) && !logfile.IsBeforeCrash(lines[begin].Text) { // of the run before
		begin++
	}
	if begin < len(lines) { // else its clock is another one, or it says nothing
		lines = lines[begin:]
	}
	end := lastError(lines)
	switch {
	case end < 0:
		return last(lines)
	case isCrash(lines[end]):
		return last(crash(lines, end))
	}
	over := afterError(lines, end)
	begin = 0
	if before := lastError(lines[:end]); before >= 0 {
		begin = min(afterError(lines, before), end)
	}
	if len(lines)-end > lastLines {
		lines = lines[:over]
	}
	return last(lines[begin:])
}

// lastError is the index of the last line with which a part of sett ended; -1: there is none.
func lastError(lines []logline.Line) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if isError(lines[i]) {
			return i
		}
	}
	return -1
}

// afterError is the index behind the lines of an error and its hint.
func afterError(lines []logline.Line, at int) int {
	if isCrash(lines[at]) {
		return at + 1
	}
	for at++; at < len(lines) && lines[at].Level == "" && !isError(lines[at]) && !logfile.IsBeforeCrash(lines[at].Text); at++ {
	}
	return at
}

// isError says whether a part of sett ended with this line, and perhaps others after it.
func isError(l logline.Line) bool {
	return l.Level == "" && strings.HasPrefix(l.Text, "sett: error: ") || isCrash(l)
}

// isCrash says whether a part of sett crashed with this line.
func isCrash(l logline.Line) bool { return l.Level == "" && logfile.IsCrash(l.Text) }

// crash returns the reason of a crash: its line, and those of Go's runtime just before it.
func crash(lines []logline.Line, at int) []logline.Line {
	begin := at
	for begin > 0 && lines[begin-1].Level == "" && logfile.IsBeforeCrash(lines[begin-1].Text) {
		begin--
	}
	return lines[begin : at+1]
}

// last returns as many lines as an error shows.
func last(lines []logline.Line) []logline.Line { return lines[max(0, len(lines)-lastLines):] }

// logged returns lines of a unit's log among these, without stack traces.
func (j *job) logged(ctx context.Context, unit string, among runtime.LogOptions, wanted func(logline.Line) bool) (lines []logline.Line, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second) // a busy engine is slow
	defer cancel()
	err = logline.Read(ctx, j.place, logline.Source{Unit: unit}, among, func(l logline.Line) {
		if wanted(l) {
			lines = append(lines, l)
		}
	})
	lines = logfile.WithoutTraces(lines, func(l logline.Line) string { return l.Text })
	return lines, err
}

// Package report tells the whole story of one goal: as a value for programs, as one HTML
// page that needs no script and no other file, and as Markdown. It reads a blackboard and
// the commits of results, and no clock: a goal that has ended gives the same bytes each
// time.
package report

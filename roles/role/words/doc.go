// Package words puts values into English for people: ids, times, counts, quotations of
// texts, suggestions. All results fit on a line and are safe to show on a terminal.
package words

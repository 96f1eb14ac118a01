// Package term is the terminal of a command: data on stdout, messages on stderr, tables,
// the formats of -o, colour, times of day, and questions to the user with a yes or no.
// It opens no instance and no blackboard.
package term

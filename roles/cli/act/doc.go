// Package act runs command lines of sett in this process, for the page (roles/cli/ui) and
// the board on the terminal (roles/cli/board). Both show the values that the commands
// print, and act as the commands do. It knows neither a blackboard nor the command line's
// grammar.
package act

package role

import "strings"

// plain is what every POSIX shell takes as it is.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_%+,./:=@-"

// ShellWord writes a word so that every POSIX shell reads it as that word: for
// commands that people are to type.
func ShellWord(s string) string {
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

package role

import "strings"

// plain has the characters that no POSIX shell interprets.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_%+,./:=@-"

// ShellWord quotes a word for every POSIX shell, for commands that people type.
func ShellWord(s string) string {
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

package embedded

import (
	"crypto/sha256"
	"crypto/subtle"
	"strings"
)

const (
	msgNoAuth    = "NOAUTH Authentication required."
	msgWrongPass = "WRONGPASS invalid username-password pair or user is disabled."
	msgNoPass    = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
)

// gate admits authenticated clients only. It sees every command in the order
// sent, before it is queued, so that a stranger's write never comes near the log.
type gate struct {
	password string
	open     bool // this connection is authenticated
}

// pass looks at one command. An answer is final: the command goes no further.
// Strangers may AUTH, say HELLO and QUIT.
func (g *gate) pass(name string, args []string) (answer string) {
	switch name {
	case "AUTH":
		return g.auth(args)
	case "HELLO":
		return g.hello(args)
	case "QUIT":
		return ""
	}
	if !g.open {
		return "-" + msgNoAuth
	}
	return ""
}

func (g *gate) auth(args []string) string {
	switch {
	case len(args) < 2 || len(args) > 3:
		return "-ERR wrong number of arguments for 'auth' command"
	case g.password == "":
		return "-" + msgNoPass
	case len(args) == 2:
		return g.check("default", args[1])
	default:
		return g.check(args[1], args[2])
	}
}

// hello serves RESP2 only: clients ask for 3 and fall back.
func (g *gate) hello(args []string) string {
	if len(args) > 1 && args[1] != "2" {
		return "-NOPROTO unsupported protocol version"
	}
	for rest := args[min(2, len(args)):]; len(rest) > 0; {
		switch option := strings.ToUpper(rest[0]); {
		case option == "AUTH" && len(rest) > 2:
			if answer := g.check(rest[1], rest[2]); answer != "+OK" {
				return answer
			}
			rest = rest[3:]
		case option == "SETNAME" && len(rest) > 1:
			rest = rest[2:]
		default:
			return "-ERR Syntax error in HELLO option"
		}
	}
	if !g.open {
		return "-" + msgNoAuth
	}
	return ""
}

// check compares in a time that does not tell how much was right.
func (g *gate) check(user, password string) string {
	if g.password == "" && user == "default" {
		return "+OK"
	}
	want, got := sha256.Sum256([]byte(g.password)), sha256.Sum256([]byte(password))
	same := subtle.ConstantTimeCompare(want[:], got[:]) == 1
	if g.password == "" || user != "default" || !same {
		return "-" + msgWrongPass
	}
	g.open = true
	return "+OK"
}

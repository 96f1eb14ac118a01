package store

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// transient lists the errors of a server that pass without a change of the call, by
// their first word. The call is repeated as if nobody had answered.
var transient = map[string]string{
	"ASK":         "a cluster moves the key of the call to another node",
	"BUSY":        "a script runs for longer than the server allows",
	"CLUSTERDOWN": "a cluster has no owner for a part of its keys",
	"LOADING":     "the server still reads its data",
	"MASTERDOWN":  "a replica has lost its master, and its data may be old",
	"MISCONF":     "the server cannot write to its disk",
	"MOVED":       "another node of a cluster has the key of the call, and is not known yet",
	"NOREPLICAS":  "fewer replicas are connected than min-replicas-to-write demands",
	"OOM":         "the memory is used up to maxmemory",
	"READONLY":    "the server is a replica, or became one in a failover",
	"TRYAGAIN":    "a cluster moves the keys of the call to another node",
	"UNBLOCKED":   "the server's role changed while the call waited",
}

// Transient says whether an error may pass by itself: the network, or an error of the
// server in the table above. Another error of a script or the server stays.
func Transient(err error) bool {
	if rueidis.IsRedisNil(err) || errors.Is(err, context.Canceled) || errors.Is(err, blackboard.ErrNotFound) ||
		errors.Is(err, blackboard.ErrCorrupt) || errors.Is(err, blackboard.ErrLost) {
		return false
	}
	var re *rueidis.RedisError
	if !errors.As(err, &re) {
		var wrong wrongServerError
		return !errors.As(err, &wrong) && !errors.Is(err, rueidis.ErrClosing) && !rueidis.IsParseErr(err)
	}
	_, is := transient[code(re.Error())]
	return is || strings.HasPrefix(re.Error(), tooMany)
}

// denials are the codes by which a server refuses a user or its password. AUTH is of "ERR AUTH <password> called
// without any password configured".
var denials = map[string]Refusal{"WRONGPASS": RefusedLogin, "NOAUTH": RefusedLogin, "AUTH": RefusedLogin, "NOPERM": RefusedRight}

// denial says in which way a server refuses the user. begun: by a command of a script, which may be half done. The error of a script
// has the code since Redis 7 only where the script was refused as a whole.
func denial(text string) (how Refusal, begun bool) {
	begun = strings.Contains(text, "@user_script") || strings.Contains(text, "ACL failure in script")
	if how = denials[code(text)]; how == RefusedNothing && (strings.Contains(text, "ACL failure in script") || strings.Contains(text, "user executing the script can't")) {
		how = RefusedRight
	}
	return how, begun
}

// RefusesLogin says that a server answered, and takes neither the user nor the password.
func RefusesLogin(err error) bool { return RefusalOf(err) == RefusedLogin }

// Denied returns the server's refusal of the user as an error of its own; nil: the error is another one. A script
// that was begun and may not make one of its commands is another one: it may be half done.
func Denied(c *Conn, err error) *blackboard.DeniedError {
	var re *rueidis.RedisError
	if !errors.As(err, &re) {
		return nil
	}
	how, begun := denial(re.Error())
	if how == RefusedNothing || begun {
		return nil
	}
	why, _, _ := strings.Cut(strings.TrimPrefix(re.Error(), "ERR "), ". ")
	denied := &blackboard.DeniedError{Addr: addrOf(c), Why: strings.TrimRight(why, "."), Login: how == RefusedLogin, Err: re}
	if _, after, found := strings.Cut(why, " to run the '"); found && !c.opened.Load() { // the server cannot be asked what else the user lacks
		command, _, _ := strings.Cut(after, "'")
		denied.User, denied.Rule = UserOf(c.Options.URL), looseRule(command)
	}
	return denied
}

// halfMade returns the server's refusal of a command of a script that was begun as an error of its own; nil: the error is another one.
func halfMade(c *Conn, err error) *blackboard.HalfMadeError {
	var re *rueidis.RedisError
	if !errors.As(err, &re) {
		return nil
	}
	if how, begun := denial(re.Error()); how != RefusedRight || !begun {
		return nil
	}
	return &blackboard.HalfMadeError{Addr: addrOf(c), Err: re}
}

// LooseCommands are the commands without a key or a channel that all parts together need.
const LooseCommands = "ping time eval evalsha unsubscribe punsubscribe discard"

// looseRule is a rule for Redis' ACL with a command and all LooseCommands.
func looseRule(command string) string {
	all := append([]string{command, "client|setname"}, strings.Fields(LooseCommands)...)
	slices.Sort(all)
	return "+" + strings.Join(slices.Compact(all), " +")
}

// UserOf returns the name of a URL's user.
func UserOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.User.Username() == "" {
		return "default"
	}
	return u.User.Username()
}

// Lacks returns the server's answer that it does not know a command as an error of its own, without the command's
// arguments; nil: the error is another one.
func Lacks(c *Conn, err error) *blackboard.CommandError {
	var re *rueidis.RedisError
	if !errors.As(err, &re) {
		return nil
	}
	lacks := &blackboard.CommandError{Addr: addrOf(c), Err: re}
	text := strings.TrimPrefix(re.Error(), "ERR ")
	if name, ok := strings.CutPrefix(text, "unknown command "); ok {
		name = strings.TrimLeft(name, "'`")
		if end := strings.IndexAny(name, "'`"); end > 0 {
			lacks.Commands = []string{strings.ToUpper(name[:end])}
		}
		return lacks
	}
	if strings.Contains(text, "Unknown Redis command called from") { // before Redis 7 it ends so
		return lacks
	}
	return nil
}

// addrOf names the server of a connection.
func addrOf(c *Conn) string {
	if c.set != "" {
		return "master_set " + c.set
	}
	return c.Addr
}

// passes says whether an error may pass by itself on a board that was open once: passwords are rotated, and rights
// are taken and given back, while work goes on.
func passes(c *Conn, err error) bool {
	return Transient(err) || c.opened.Load() && Denied(c, err) != nil
}

// code returns the first word of a server's error. A script's error begins with it since
// Redis 7; older servers put it last, behind a minus: "ERR Error running script (call to
// f_SHA): @user_script:1: @user_script: 1: -READONLY You can't write …".
func code(text string) string {
	text = strings.TrimPrefix(text, "ERR ")
	if strings.HasPrefix(text, "Error running script ") || strings.HasPrefix(text, "Error compiling script ") {
		if _, inner, found := strings.Cut(text, ": -"); found {
			text = inner
		}
	}
	word, _, _ := strings.Cut(strings.TrimPrefix(text, "-"), " ")
	return word
}

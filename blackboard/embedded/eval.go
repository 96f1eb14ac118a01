package embedded

import (
	"strconv"
	"strings"
)

// script handles EVAL and its relatives, and SCRIPT. False: the connection is over.
func (c *client) script(next incoming) bool {
	if next.name == "SCRIPT" {
		if !c.flush() {
			return false
		}
		c.scriptCommand(next.args)
		return true
	}
	s, message := c.findScript(next)
	switch {
	case message != "":
		if !c.flush() {
			return false
		}
		c.fail(message)
		return true
	case s.mode == readonly || strings.HasSuffix(next.name, "_RO"):
		if !c.flush() || !c.out.drain() {
			return false
		}
		c.direct(readonly, call(s, next.args))
		return true
	default:
		return c.enqueue(&request{c: c, args: call(s, next.args), script: s})
	}
}

// call is a script's call as it is executed and logged.
func call(s *luaScript, args []string) []string {
	return append([]string{"EVALSHA", s.sha}, args[2:]...)
}

// findScript checks a call and finds its script; a message is the error to answer.
func (c *client) findScript(next incoming) (*luaScript, string) {
	args := next.args
	if len(args) < 3 {
		return nil, "ERR wrong number of arguments for '" + strings.ToLower(next.name) + "' command"
	}
	keys, err := strconv.Atoi(args[2])
	switch {
	case err != nil:
		return nil, msgNotInteger
	case keys < 0:
		return nil, "ERR Number of keys can't be negative"
	case keys > len(args)-3:
		return nil, "ERR Number of keys can't be greater than number of args"
	}
	b := c.s.board
	b.mu.Lock()
	defer b.mu.Unlock()
	if strings.HasPrefix(next.name, "EVALSHA") {
		if s := b.scripts[strings.ToLower(args[1])]; s != nil {
			return s, ""
		}
		return nil, "NOSCRIPT No matching script. Please use EVAL."
	}
	return b.learn(args[1])
}

// scriptCommand answers SCRIPT LOAD, SCRIPT EXISTS and SCRIPT KILL.
func (c *client) scriptCommand(args []string) {
	var sub string
	if len(args) > 1 {
		sub = strings.ToUpper(args[1])
	}
	if sub == "KILL" && len(args) == 2 {
		c.answer(c.s.killScript())
		return
	}
	b := c.s.board
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case sub == "LOAD" && len(args) == 3:
		s, message := b.learn(args[2])
		if message != "" {
			c.fail(message)
			return
		}
		_, _ = c.out.Write(appendBulk(nil, s.sha))
	case sub == "EXISTS" && len(args) > 2:
		reply := appendLen(nil, len(args)-2)
		for _, sha := range args[2:] {
			known := 0
			if b.scripts[strings.ToLower(sha)] != nil {
				known = 1
			}
			reply = appendInt(reply, known)
		}
		_, _ = c.out.Write(reply)
	default:
		c.fail("ERR unknown subcommand or wrong number of arguments: the embedded blackboard serves SCRIPT LOAD, SCRIPT EXISTS and SCRIPT KILL")
	}
}

package embedded

import (
	"bufio"
	"bytes"
	"errors"
	"strconv"
	"strings"

	luajson "github.com/alicebob/miniredis/v2/gopher-json"
	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// interpreter runs all scripts in one Lua state. Miniredis would set up a state for each
// call, and a connection for each command of a script.
type interpreter struct {
	board *board
	state *lua.LState
	reply bytes.Buffer // of the command that a script calls
	w     *bufio.Writer
	peer  *server.Peer // writes into reply
}

func newInterpreter(b *board) *interpreter {
	i := &interpreter{board: b}
	i.w = bufio.NewWriter(&i.reply)
	i.peer = server.NewPeer(i.w)
	i.state = i.newState()
	return i
}

// newState is a state with the libraries of Redis' that Sett uses. No script leaves
// anything behind in it: globals and libraries cannot be changed.
func (i *interpreter) newState() *lua.LState {
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath} {
		l.Push(l.NewFunction(open))
		l.Call(0, 0)
	}
	luajson.Loader(l)
	l.SetGlobal("cjson", l.Get(-1))
	l.Pop(1)
	l.SetGlobal("redis", l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{
		"call":         func(l *lua.LState) int { return i.call(l, true) },
		"pcall":        func(l *lua.LState) int { return i.call(l, false) },
		"error_reply":  func(l *lua.LState) int { l.Push(marked(l, "err", l.CheckString(1))); return 1 },
		"status_reply": func(l *lua.LState) int { l.Push(marked(l, "ok", l.CheckString(1))); return 1 },
	}))
	for _, name := range []string{"dofile", "loadfile", "module", "require", "print", "_printregs", "rawset", "setfenv", "getfenv", "newproxy"} {
		l.SetGlobal(name, lua.LNil)
	}
	l.GetMetatable(lua.LString("")).(*lua.LTable).RawSetString("__metatable", lua.LFalse)
	for _, name := range []string{"cjson", "math", "redis", "string", "table"} {
		l.SetGlobal(name, guarded(l, l.NewTable(), l.GetGlobal(name)))
	}
	// What is in a table can be replaced, so the globals move to where scripts only read.
	globals := guarded(l, l.NewTable(), l.NewFunction(func(l *lua.LState) int { return stray(l, "access nonexistent") }))
	l.SetGlobal("_G", lua.LNil)
	l.G.Global.ForEach(globals.RawSet)
	globals.ForEach(func(name, _ lua.LValue) { l.G.Global.RawSet(name, lua.LNil) })
	guarded(l, l.G.Global, globals)
	return l
}

// guarded makes a table that a script cannot change, and whose other fields come from index.
func guarded(l *lua.LState, t *lua.LTable, index lua.LValue) *lua.LTable {
	meta := l.NewTable()
	meta.RawSetString("__index", index)
	meta.RawSetString("__newindex", l.NewFunction(func(l *lua.LState) int { return stray(l, "create") }))
	meta.RawSetString("__metatable", lua.LFalse)
	l.SetMetatable(t, meta)
	return t
}

func stray(l *lua.LState, verb string) int {
	l.RaiseError("Script attempted to %s global variable '%s'", verb, l.ToString(2))
	return 0
}

// marked is the table that stands for an error or a status.
func marked(l *lua.LState, field, text string) *lua.LTable {
	t := l.NewTable()
	t.RawSetString(field, lua.LString(text))
	return t
}

// run executes a script's call: EVALSHA, digest, number of keys, keys and arguments. The
// reply goes to p.
func (i *interpreter) run(p *server.Peer, s *luaScript, args []string) {
	keys, err := strconv.Atoi(args[2])
	if err != nil || keys < 0 || keys > len(args)-3 {
		p.WriteError(msgNotInteger)
		return
	}
	l := i.state
	l.G.Global.RawSetString("KEYS", words(l, args[3:3+keys]))
	l.G.Global.RawSetString("ARGV", words(l, args[3+keys:]))
	l.Push(l.NewFunctionFromProto(s.proto))
	if err := i.watched(l, s); err != nil {
		i.state = i.newState() // whatever the failure left in the old one
		p.WriteError(failure(err) + " script: " + s.sha)
		return
	}
	defer l.SetTop(0)
	writeValue(p, l.Get(-1))
}

// watched runs the function on the stack.
func (i *interpreter) watched(l *lua.LState, s *luaScript) error {
	defer i.board.watch(l, s)()
	return l.PCall(0, 1, nil)
}

// failure is the text of what a script raised: of an error reply, or of Lua's own.
func failure(err error) string {
	var raised *lua.ApiError
	if !errors.As(err, &raised) {
		return "ERR " + err.Error()
	}
	if t, ok := raised.Object.(*lua.LTable); ok {
		return t.RawGetString("err").String()
	}
	return "ERR " + raised.Object.String()
}

func words(l *lua.LState, list []string) *lua.LTable {
	t := l.CreateTable(len(list), 0)
	for _, s := range list {
		t.Append(lua.LString(s))
	}
	return t
}

// call is redis.call, which raises an error reply, and redis.pcall, which returns it.
func (i *interpreter) call(l *lua.LState, raises bool) int {
	args := make([]string, l.GetTop())
	for n := range args {
		switch v := l.Get(n + 1).(type) {
		case lua.LNumber, lua.LString:
			args[n] = v.String()
		default:
			l.RaiseError("Lua redis lib command arguments must be strings or integers")
		}
	}
	if len(args) == 0 {
		l.RaiseError("Please specify at least one argument for this redis lib call")
	}
	i.dispatch(args)
	value, _ := readValue(l, i.reply.Bytes())
	if t, ok := value.(*lua.LTable); ok && raises {
		if t.RawGetString("err") != lua.LNil {
			l.Error(t, 1)
		}
	}
	l.Push(value)
	return 1
}

// dispatch executes one command of a script and leaves the reply in i.reply. A panic goes
// on, but for the lock of miniredis that it left.
func (i *interpreter) dispatch(args []string) {
	i.w.Reset(&i.reply)
	if i.reply.Reset(); i.reply.Cap() > 1<<20 {
		i.reply = bytes.Buffer{} // one huge reply does not stay
	}
	defer func() {
		if r := recover(); r != nil {
			i.board.unlock()
			panic(r)
		}
	}()
	i.board.srv.Dispatch(i.peer, args)
	i.peer.Flush()
}

// readValue reads a reply as the value that a script sees, and returns the rest.
func readValue(l *lua.LState, b []byte) (lua.LValue, []byte) {
	line, rest, _ := bytes.Cut(b, []byte("\r\n"))
	text := string(line[1:])
	n, _ := strconv.Atoi(text)
	switch {
	case line[0] == '+':
		return marked(l, "ok", text), rest
	case line[0] == '-' && strings.HasPrefix(text, "ERR unknown command"):
		return marked(l, "err", "ERR Unknown Redis command called from script"), rest
	case line[0] == '-':
		return marked(l, "err", text), rest
	case line[0] == ':':
		return lua.LNumber(n), rest
	case n < 0:
		return lua.LFalse, rest
	case line[0] == '$':
		return lua.LString(rest[:n]), rest[n+2:]
	}
	t := l.CreateTable(n, 0)
	for range n {
		var v lua.LValue
		v, rest = readValue(l, rest)
		t.Append(v)
	}
	return t, rest
}

// writeValue writes what a script returned as a reply, by the rules of Redis: numbers lose
// their fraction, and a table ends before its first nil.
func writeValue(p *server.Peer, value lua.LValue) {
	switch v := value.(type) {
	case lua.LNumber:
		p.WriteInt(int(v))
	case lua.LString:
		p.WriteBulk(string(v))
	case *lua.LTable:
		if text := v.RawGetString("err"); text != lua.LNil {
			p.WriteError(text.String())
			return
		}
		if text := v.RawGetString("ok"); text != lua.LNil {
			p.WriteInline(text.String())
			return
		}
		n := 0
		for v.RawGetInt(n+1) != lua.LNil {
			n++
		}
		p.WriteLen(n)
		for e := range n {
			writeValue(p, v.RawGetInt(e+1))
		}
	default:
		if value == lua.LTrue {
			p.WriteInt(1)
		} else {
			p.WriteNull()
		}
	}
}

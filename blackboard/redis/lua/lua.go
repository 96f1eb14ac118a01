// Package lua holds the moves as Lua scripts, one file each, and links each with the
// shared definitions that it uses: of _keys.lua, the names of keys and channels,
// and of _lib.lua, which states the laws of all scripts, and those after it.
package lua

import (
	"crypto/sha1" // #nosec G505 -- Redis names scripts by it
	"embed"
	"encoding/hex"
	"iter"
	"strings"
	"sync"
	"unicode"
)

//go:embed *.lua _*.lua
var files embed.FS

// Script is one atomic move: its source, and the digest that Redis names it by.
type Script struct {
	Source, SHA string
}

// Move returns the move of a name. It is linked when it is first asked for: a command makes
// one or two of fifty moves, and linking all of them takes longer than such a command.
func Move(name string) Script {
	return moves()[name]()
}

// moves are the functions that link each move, by the move's name.
var moves = sync.OnceValue(func() map[string]func() Script {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the files are part of the binary
	}
	all := make(map[string]func() Script, len(entries))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "_") {
			continue
		}
		all[strings.TrimSuffix(e.Name(), ".lua")] = sync.OnceValue(func() Script {
			source := Link(read(e.Name()))
			sum := sha1.Sum([]byte(source)) // #nosec G401
			return Script{source, hex.EncodeToString(sum[:])}
		})
	}
	return all
})

// Scripts returns every move by its name. The map is everybody's: nobody changes it.
var Scripts = sync.OnceValue(func() map[string]Script {
	all := make(map[string]Script, len(moves()))
	for name, linked := range moves() {
		all[name] = linked()
	}
	return all
})

// own are the digests of the moves.
var own = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, s := range Scripts() {
		all[s.SHA] = true
	}
	return all
})

// Own says by its digest that a script is a move. Every move has an end.
func Own(sha string) bool { return own()[sha] }

// shared are the files of shared definitions, in an order in which each uses only
// earlier ones.
var shared = []string{"_keys.lua", "_lib.lua", "_artefact.lua", "_spending.lua", "_grant.lua", "_claim.lua", "_course.lua"}

// Link puts in front of a move the shared definitions that it uses, and no others:
// Redis makes each of them anew at every call, which cost more than the move itself.
// A definition is a top-level `local` with its lines up to the next one. A move
// uses each definition that it names, and those that these name.
func Link(move string) string {
	defs, used := definitions(), map[string]bool{}
	for name := range names(move) {
		used[name] = true
	}
	for i := len(defs) - 1; i >= 0; i-- { // a definition only uses earlier ones
		if used[defs[i].name] {
			for _, name := range defs[i].uses {
				used[name] = true
			}
		}
	}
	var b strings.Builder
	for _, d := range defs {
		if used[d.name] {
			b.WriteString(d.text)
		}
	}
	return b.String() + move
}

// definition is one shared definition, with the names of those before it that it uses.
type definition struct {
	name, text string
	uses       []string
}

// definitions takes the shared code apart, once in a process: it is read for every move.
var definitions = sync.OnceValue(func() []definition {
	var defs []definition
	for _, file := range shared {
		for line := range strings.Lines(read(file)) {
			if strings.HasPrefix(line, "--") || strings.TrimSpace(line) == "" {
				continue
			}
			if rest, ok := strings.CutPrefix(line, "local "); ok {
				rest = strings.TrimPrefix(rest, "function ")
				end := strings.IndexFunc(rest, func(r rune) bool { return !partOfName(r) })
				defs = append(defs, definition{name: rest[:end], text: line})
				continue
			}
			defs[len(defs)-1].text += line
		}
	}
	earlier := map[string]bool{}
	for i, d := range defs {
		for name := range names(d.text) {
			if earlier[name] {
				defs[i].uses = append(defs[i].uses, name)
			}
		}
		earlier[d.name] = true
	}
	return defs
})

// names returns every word of a text that can be a name.
func names(text string) iter.Seq[string] {
	return strings.FieldsFuncSeq(text, func(r rune) bool { return !partOfName(r) })
}

func partOfName(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func read(name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Package lua holds the moves as Lua scripts, one file each, and links each with the
// shared definitions that it uses: of _keys.lua, the names of keys and channels,
// and of _lib.lua, which states the laws of all scripts, and those after it.
package lua

import (
	"crypto/sha1" // #nosec G505 -- Redis names scripts by it
	"embed"
	"encoding/hex"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

//go:embed *.lua _*.lua
var files embed.FS

// Script is one atomic move: its source, and the digest that Redis names it by.
type Script struct {
	Source, SHA string
}

// Scripts returns every move by its name.
func Scripts() map[string]Script {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the files are part of the binary
	}
	all := make(map[string]Script, len(entries))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "_") {
			continue
		}
		source := Link(read(e.Name()))
		sum := sha1.Sum([]byte(source)) // #nosec G401
		all[strings.TrimSuffix(e.Name(), ".lua")] = Script{source, hex.EncodeToString(sum[:])}
	}
	return all
}

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
var shared = []string{"_keys.lua", "_lib.lua", "_artefact.lua", "_spending.lua", "_grant.lua", "_claim.lua"}

// Link puts in front of a move the shared definitions that it uses, and no others:
// Redis makes each of them anew at every call, which cost more than the move itself.
// A definition is a top-level `local` with its lines up to the next one. A move
// uses each definition that it names, and those that these name.
func Link(move string) string {
	var all strings.Builder
	for _, name := range shared {
		all.WriteString(read(name))
	}
	defs := definitions(all.String())
	used := make([]bool, len(defs))
	text := move
	for i := len(defs) - 1; i >= 0; i-- { // a definition only uses earlier ones
		if used[i] = mentions(text, defs[i].name); used[i] {
			text += defs[i].text
		}
	}
	var b strings.Builder
	for i, d := range defs {
		if used[i] {
			b.WriteString(d.text)
		}
	}
	return b.String() + move
}

// definition is one shared definition.
type definition struct{ name, text string }

// definitions takes shared code apart.
func definitions(shared string) []definition {
	var defs []definition
	for line := range strings.Lines(shared) {
		if strings.HasPrefix(line, "--") || strings.TrimSpace(line) == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "local "); ok {
			rest = strings.TrimPrefix(rest, "function ")
			end := strings.IndexFunc(rest, func(r rune) bool { return !partOfName(r) })
			defs = append(defs, definition{rest[:end], line})
			continue
		}
		defs[len(defs)-1].text += line
	}
	return defs
}

// mentions says whether the word occurs in the text.
func mentions(text, word string) bool {
	for {
		before, after, ok := strings.Cut(text, word)
		if !ok {
			return false
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		first, _ := utf8.DecodeRuneInString(after)
		if !partOfName(last) && !partOfName(first) {
			return true
		}
		text = after
	}
}

func partOfName(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func read(name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(b)
}

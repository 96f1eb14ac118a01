// Package grammar is the grammar of the command line as a plain value: help, the manual
// and the completion of shells all read it. It parses nothing.
package grammar

import "strings"

// LastGoal stands for the newest goal wherever an id is expected.
const LastGoal = "@last"

// LastResult stands for the final result of the newest goal.
const LastResult = "@result"

// Command is a command with its texts. The command without a parent is sett itself: its
// flags are those of every command.
type Command struct {
	Name     string
	Help     string // one line
	Detail   string // all else that its help says, and its examples
	Group    string // the title above it in the overview
	Hidden   bool
	Parent   *Command
	Commands []*Command

	Flags     []*Flag
	Arguments []*Argument
}

// Value is a value to type.
type Value struct {
	Name    string
	Help    string
	Choices []string // all that it may be; none: anything
	Many    bool     // it may be given again and again
}

// Flag is a flag of a command.
type Flag struct {
	Value
	Short       rune   // 0: none
	Placeholder string // of its value; in [] if the value is optional, empty if it shows none
	Bare        bool   // it takes no value, or only behind =
	Hidden      bool
}

// Argument is an argument of a command.
type Argument struct {
	Value
	Required bool
}

// Path is the full name of a command, without `sett`.
func (c *Command) Path() string {
	if c.Parent == nil || c.Parent.Parent == nil {
		return c.Name
	}
	return c.Parent.Path() + " " + c.Name
}

// Command returns the command of that name directly below; nil: there is none.
func (c *Command) Command(name string) *Command {
	for _, child := range c.Commands {
		if child.Name == name {
			return child
		}
	}
	return nil
}

// Find returns the command that the words lead to; words that name none are skipped.
func (c *Command) Find(words []string) *Command {
	for _, word := range words {
		if child := c.Command(word); child != nil {
			c = child
		}
	}
	return c
}

// Visible returns the commands directly below that help shows.
func (c *Command) Visible() []*Command {
	var all []*Command
	for _, child := range c.Commands {
		if !child.Hidden {
			all = append(all, child)
		}
	}
	return all
}

// Below returns all commands below that help shows, each before those below it.
func (c *Command) Below() []*Command {
	var all []*Command
	for _, child := range c.Visible() {
		all = append(append(all, child), child.Below()...)
	}
	return all
}

// Usage is an argument as a line of usage shows it.
func (a *Argument) Usage() string {
	s := strings.ToUpper(a.Name)
	if a.Many {
		s += " …"
	}
	if !a.Required {
		s = "[" + s + "]"
	}
	return s
}

// Package confine keeps a program from files of its own user, with Landlock, the part of
// Linux that lets a thread give up rights for good. The programs that the thread starts
// have given them up, too, whatever they do. It is for tools of local mode. A container
// needs it not.
//
// Landlock allows places and denies none, so the rules name all places that can be
// written. To hide one directory, they name everything beside it and beside each
// directory above it, at that moment: a file that somebody makes there later cannot be
// read either, until the next start.
//
// It covers opening, making, removing, moving, linking and truncating files. It does not
// cover their modes, owners, times and attributes, names of files, or Unix sockets. It
// keeps the program also from tracing, and where the kernel can, from signalling, any
// process outside.
//
// The package makes the system calls itself: the library for them, go-landlock, confines
// all threads of the process at once, and Sett must go on.
package confine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sett/contract/env"
)

// Rules are the places that a confined program reaches.
type Rules struct {
	// Write lists files and directories that it may read and write, with everything
	// below them, as absolute paths. A missing one is left out, and so is one behind a
	// link: a program that can write the link must not choose the place.
	Write []string
	// Hide is a directory with files that it cannot read; empty: it reads all files of its user.
	Hide string
	// Read lists the files and directories below Hide that it may read all the same. A
	// missing one is left out.
	Read []string
}

// devices are the files of devices that every program may write.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// Of returns the rules of a tool's walls.
func Of(w env.Walls) *Rules {
	return &Rules{Write: slices.Concat(w.Write, []string{w.Tmp}, devices), Hide: w.Hide, Read: w.Read}
}

// ErrUnsupported means that this system cannot confine a program.
var ErrUnsupported = errors.New("no Landlock here")

// The versions of Landlock that added something.
const (
	movesLevel    = 2 // moves and links between directories, which version 1 refuses everywhere
	truncateLevel = 3
	deviceLevel   = 5 // ioctl on devices
	signalLevel   = 6 // signals, and abstract Unix sockets
)

// Gaps lists the acts that a version of Landlock cannot refuse, for people; version 0 has
// no Landlock, and refuses nothing.
func Gaps(level int) []string {
	var all []string
	for _, g := range []struct {
		since int
		text  string
	}{{truncateLevel, "emptying a file with truncate"}, {deviceLevel, "control calls to devices"}, {signalLevel, "signals to other processes"}} {
		if level < g.since {
			all = append(all, g.text)
		}
	}
	return all
}

// Say describes the walls of tools on a kernel with that version, in one sentence.
func Say(level int) string {
	switch gaps := Gaps(level); {
	case level == 0:
		return "this system has no Landlock, so nothing keeps tools to the places in local.write"
	case len(gaps) > 0:
		return fmt.Sprintf("Linux keeps tools to their trees and the places in local.write (Landlock %d); it cannot refuse %s", level, strings.Join(gaps, ", "))
	default:
		return fmt.Sprintf("Linux keeps tools to their trees and the places in local.write (Landlock %d)", level)
	}
}

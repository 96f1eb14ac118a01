// Command sett runs a clan of tool-equipped agents against one goal. It is every
// part of the system in one file: which one, the name it is called by decides,
// else the first argument; see sett --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"sett/roles/blackboard"
	"sett/roles/cli"
	"sett/roles/cub"
	"sett/roles/keeper"
	"sett/roles/notifier"
	"sett/roles/orchestrator"
	"sett/roles/pause"
	"sett/roles/role"
)

// Set when the binary is linked.
var (
	version = "dev"
	commit  = ""
)

// roles by the first argument, and by the name the binary is called by.
var roles = map[string]func(context.Context, role.Env) error{
	"orchestrator":      orchestrator.Run,
	"sett-orchestrator": orchestrator.Run,
	"cub":               cub.Run,
	"blackboard":        blackboard.Run,
	"keeper":            keeper.Run,
	"notifier":          notifier.Run,
	"pause":             pause.Run,
}

func main() { os.Exit(int(run(os.Args))) }

func run(args []string) role.Code {
	ctx, hurry := signals()
	start, rest := cli.Run, args[1:]
	if r, ok := roles[filepath.Base(args[0])]; ok {
		start = r
	} else if len(rest) > 0 {
		if r, ok := roles[rest[0]]; ok {
			start, rest = r, rest[1:]
		}
	}
	e := role.OS(rest, role.Build{Version: version, Commit: commit})
	e.Hurry = hurry
	err := start(ctx, e)
	if err != nil {
		role.Report(os.Stderr, err)
	}
	return role.CodeOf(err)
}

// signals turns the first request to stop into the end of the context, and the
// second into the closing of the channel. A hung-up terminal is no request: what
// runs in the background outlives it.
func signals() (context.Context, <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	hurry := make(chan struct{})
	c := make(chan os.Signal, 2)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-c
		cancel()
		<-c
		close(hurry)
	}()
	return ctx, hurry
}

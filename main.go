// Command sett runs a clan of tool-equipped agents against one goal. Every part of
// the system is in this one binary: its name, else the first argument, chooses the
// part; see sett --help. Package roles is the map of the code.
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
	"sett/roles/gateway"
	"sett/roles/keeper"
	"sett/roles/llm"
	"sett/roles/notifier"
	"sett/roles/orchestrator"
	"sett/roles/pause"
	"sett/roles/repository"
	"sett/roles/role"
	"sett/runtime/logfile"
)

// The linker sets these.
var (
	version = "dev"
	commit  = ""
)

// roles by the first argument, and by the binary's name.
var roles = map[string]func(context.Context, role.Env) error{
	"orchestrator":      role.Secluded(orchestrator.Run),
	"sett-orchestrator": role.Secluded(orchestrator.Run),
	"cub":               cub.Run,
	"blackboard":        role.Secluded(blackboard.Run),
	"keeper":            role.Secluded(keeper.Run),
	"model-gateway":     role.Secluded(gateway.Run),
	"llm":               llm.Run,
	"notifier":          notifier.Run,
	"repository":        role.Secluded(repository.Run),
	"pause":             pause.Run,
}

func main() { os.Exit(int(run(os.Args))) }

func run(args []string) role.Code {
	start, rest, stop := part(args)
	ctx, hurry := signals(stop...)
	e := role.OS(rest, role.Build{Version: version, Commit: commit})
	e.Hurry = hurry
	if log := logfile.Own(); log != nil { // a process of local mode
		e.Stdout, e.Stderr = log, log
	}
	err := start(ctx, e)
	if err != nil {
		role.Report(os.Stderr, err)
	}
	return role.CodeOf(err)
}

// part returns the part of sett that a command line starts, its arguments, and the signals that ask it to stop. SIGQUIT asks
// a command, a person's Ctrl-\, at which Go would print all stacks; no part of an instance ends for it.
func part(args []string) (start func(context.Context, role.Env) error, rest []string, stop []os.Signal) {
	stop = []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if r, ok := roles[filepath.Base(args[0])]; ok {
		return role.Unit(r), args[1:], stop
	}
	if len(args) > 1 {
		if r, ok := roles[args[1]]; ok {
			return role.Unit(r), args[2:], stop
		}
	}
	return role.Secluded(cli.Run), args[1:], append(stop, syscall.SIGQUIT)
}

// signals ends the context at the first request to stop, and closes the channel at
// the second. A terminal that is closed is one request, however often it is told: background
// parts have sessions of their own, and outlive it. Under nohup it is none.
func signals(stop ...os.Signal) (context.Context, <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	hurry := make(chan struct{})
	c := make(chan os.Signal, 2)
	signal.Notify(c, stop...)
	if !signal.Ignored(syscall.SIGHUP) {
		hungUp := make(chan os.Signal, 1)
		signal.Notify(hungUp, syscall.SIGHUP)
		go func() {
			<-hungUp
			cancel()
		}()
	}
	go func() {
		<-c
		cancel()
		<-c
		close(hurry)
	}()
	return ctx, hurry
}

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
	ctx, hurry := signals()
	start, rest := role.Secluded(cli.Run), args[1:]
	if r, ok := roles[filepath.Base(args[0])]; ok {
		start = role.Unit(r)
	} else if len(rest) > 0 {
		if r, ok := roles[rest[0]]; ok {
			start, rest = role.Unit(r), rest[1:]
		}
	}
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

// signals ends the context at the first request to stop, and closes the channel at
// the second. A terminal that is closed is one request, however often it is told: background
// parts have sessions of their own, and outlive it. Under nohup it is none.
func signals() (context.Context, <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	hurry := make(chan struct{})
	c := make(chan os.Signal, 2)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT) // else Go prints all stacks at SIGQUIT, as it does at SIGABRT
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

package cub

import (
	"context"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"sett/contract/env"
	"sett/roles/role"
)

// The test binary is also a cub in a process of its own, for what can only be
// seen from outside a process: its environment.
const roleVariable = "CUB_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "cub":
		os.Exit(playCub())
	case "cub of nobody":
		if err := becomeNobody(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(playCub())
	case "repository":
		os.Exit(playRepository())
	case "dialler":
		playDialler()
	}
}

// playDialler is a tool that says, in the word that its arguments have for it,
// whether the network can be reached: what to dial, yes, no.
func playDialler() {
	word := os.Args[3]
	if conn, err := net.Dial("tcp", os.Args[1]); err == nil {
		word = os.Args[2]
		_ = conn.Close()
	}
	fmt.Println(word)
}

// playCub is a worker's whole life.
func playCub() int {
	if os.Getenv(env.RedisURL) == "" {
		return 1
	}
	err := Run(context.Background(), role.OS([]string{"--execute-claim", os.Getenv(claimVariable)}, role.Build{}))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return int(role.CodeOf(err))
}

// becomeNobody gives up root, and makes this process readable for its user
// again, as one is that was started by that user.
func becomeNobody() error {
	const nobody = 65534
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setgid(nobody); err != nil {
		return err
	}
	if err := syscall.Setuid(nobody); err != nil {
		return err
	}
	return makeReadable()
}

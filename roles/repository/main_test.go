package repository

import (
	"context"
	"fmt"
	"os"
	"testing"

	"sett/roles/role"
)

// The test binary is also the role in a process of its own, which can be killed.
const roleVariable = "REPOSITORY_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "" {
		os.Exit(m.Run())
	}
	err := Run(context.Background(), role.OS(nil, role.Build{}))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(int(role.CodeOf(err)))
}

package toolrun

import (
	"bytes"
	"context"
	"os/exec"
	"testing"
)

// The two benchmarks do the same: /bin/true with a little stdin and both outputs
// caught.

func BenchmarkExecCommand(b *testing.B) {
	for b.Loop() {
		cmd := exec.Command("/bin/true")
		cmd.Env = []string{"A=b"}
		var out, err bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(make([]byte, 1000)), &out, &err
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	p := New()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for b.Loop() {
		c := Command{Args: []string{"/bin/true"}, Env: []string{"A=b"}, Stdin: make([]byte, 1000)}
		if res, err := p.Run(ctx, c); err != nil || res.ExitCode != 0 {
			b.Fatal(res, err)
		}
	}
}

// BenchmarkRunBesideAnother is the dearer case: another run is under way, so the
// sweep has to look at the children one by one.
func BenchmarkRunBesideAnother(b *testing.B) {
	p := New()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	stderr := make(lines, 1)
	go func() {
		defer close(done)
		c := sh("echo begun >&2; exec sleep 60")
		c.Stderr = stderr
		_, _ = p.Run(ctx, c)
	}()
	<-stderr
	for b.Loop() {
		c := Command{Args: []string{"/bin/true"}, Env: []string{"A=b"}, Stdin: make([]byte, 1000)}
		if res, err := p.Run(context.Background(), c); err != nil || res.ExitCode != 0 {
			b.Fatal(res, err)
		}
	}
	cancel()
	<-done
}

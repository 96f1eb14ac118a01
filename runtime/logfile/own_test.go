package logfile

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"sett/runtime"
)

const linesVariable = "LOGFILE_TEST_LINES"

// TestMain is also a process that writes its own log.
func TestMain(m *testing.M) {
	if os.Getenv(linesVariable) == "" {
		os.Exit(m.Run())
	}
	log := Own()
	if log == nil {
		fmt.Fprintln(os.Stderr, "no log of its own")
		os.Exit(0)
	}
	text := strings.Repeat("x", 1000)
	for n := range 5 * Full / 1000 {
		fmt.Fprintf(log, "line %d %s\n", n, text)
	}
	fmt.Println("the end of stdout")
	os.Exit(0)
}

// TestOwnLogIsBounded has a process write far more than is kept. Nothing is lost of the
// newest two files, and a reader that follows is not confused.
func TestOwnLogIsBounded(t *testing.T) {
	d := Dir(t.TempDir())
	f, _, err := d.Append("x")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), linesVariable+"=1", OwnEnv+"="+d.Path("x"))
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(string(d))
	if err != nil || len(entries) != 3 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, e := range entries {
		if st, err := e.Info(); err != nil || st.Size() > Full+4096 {
			t.Errorf("%s has %d bytes, %v", e.Name(), st.Size(), err)
		}
	}
	src, err := d.Open("x")
	if err != nil {
		t.Fatal(err)
	}
	r, err := src.Stream(context.Background(), runtime.LogOptions{Lines: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(all), "\n"), "\n")
	if last := lines[len(lines)-1]; last != "the end of stdout" {
		t.Errorf("the last line is %.60q", last)
	}
	var first, n int
	if _, err := fmt.Sscanf(lines[0], "line %d", &first); err != nil || len(all) < 2*Full {
		t.Fatalf("%d bytes that begin with %.40q", len(all), lines[0])
	}
	for i, line := range lines[:len(lines)-1] {
		if _, err := fmt.Sscanf(line, "line %d", &n); err != nil || n != first+i {
			t.Fatalf("line %d is %.40q, want line %d", i, line, first+i)
		}
	}
}

// TestOwnLogOfAnother is none: a program that a unit starts does not rotate its log.
func TestOwnLogOfAnother(t *testing.T) {
	d := Dir(t.TempDir())
	if err := os.WriteFile(d.Path("x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), linesVariable+"=1", OwnEnv+"="+d.Path("x"))
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "no log of its own\n" {
		t.Errorf("%.200s, %v", out, err)
	}
}

// TestFollowPastTwoLogs follows a log that is put aside twice between two looks.
func TestFollowPastTwoLogs(t *testing.T) {
	d := Dir(t.TempDir())
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(d.Path("x"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a\n")
	src, err := d.Open("x")
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var got strings.Builder
	sv := NewSieve(&got, runtime.LogOptions{Lines: -1})
	if err := src.Copy(t.Context(), sv); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"b\n", "c\n"} {
		if err := putAside(d.Path("x")); err != nil {
			t.Fatal(err)
		}
		write(text)
	}
	again, err := src.turnover(t.Context(), sv)
	if err == nil {
		err = copyAll(t.Context(), sv, src.cur)
	}
	if err == nil {
		err = sv.Release(false)
	}
	if got.String() != "a\nb\nc\n" || !again || err != nil {
		t.Errorf("%q, %v, %v", got.String(), again, err)
	}
}

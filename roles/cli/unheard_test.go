package cli

import (
	"os"
	"testing"
)

// A reader that goes away does not end work that changes something.
func TestUnheardOutputIsDropped(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("x")); err == nil {
		t.Fatal("a pipe without a reader takes output")
	}
	if n, err := unheard(w).Write([]byte("abc")); n != 3 || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
}

// Words of other tools lead to our commands.
func TestForeignCommands(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"ps": "list", "stop": "down", "rm": "down --purge", "run": "forage", "events": "watch", "inspect": "show", "cat": "unearth", "artifacts": "hoard"} {
		_, _, err := parse([]string{word})
		if got := hint(err); got != "did you mean \""+want+"\"?" {
			t.Errorf("sett %s: %q", word, got)
		}
	}
}

package term

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
	if n, err := Unheard(w).Write([]byte("abc")); n != 3 || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
}

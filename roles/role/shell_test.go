package role

import (
	"os/exec"
	"testing"
)

// A shell reads back the word that was meant.
func TestShellWord(t *testing.T) {
	for _, word := range []string{"my-sett", "01K", "", "-n", "a b", "it's", "$(x)", "`x`", "a\nb", `\`, `"`, "é", "~", "*", "!", "a;b", "#", "=x", "/it's/$HOME"} {
		out, err := exec.Command("sh", "-c", "printf %s "+ShellWord(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q became %q, %v", word, out, err)
		}
	}
	for _, word := range []string{"my-sett", "/home/me/my-project", "a=b", "100%"} {
		if got := ShellWord(word); got != word {
			t.Errorf("the plain word %s became %s", word, got)
		}
	}
}

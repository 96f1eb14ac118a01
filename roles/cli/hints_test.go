package cli

import (
	"regexp"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/roles/role"
)

// What commands advise to type can be typed where they were: outside the workspace
// it has to name the instance.
func TestHintsNameTheInstance(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	s.elsewhere = true
	own := []string{"--name", "stage"}
	said := func(args ...string) string {
		c := s.start(append(own, args...)...)
		err := c.wait()
		text := c.err.String() + "\n" + hint(err)
		if err != nil {
			text += "\n" + err.Error()
		}
		return text
	}
	talk := said("goals")
	has(t, said("goals", "--status", "failed"), "no goal is failed")
	s.Must(s.board.Cub.Goodbye(t.Context(), "lint", "i-lint", "gone"))
	asking, _, _ := s.asks("the goal", "Which one?")
	failing, _, _ := s.fails()
	cancelled := s.Goal("not needed")
	work := s.Goal("work")
	for _, args := range [][]string{
		{"forage", "x"}, {"wait", asking}, {"wait", failing}, {"wait", s.concluded("")}, {"wait", work, "--timeout", "1ms"}, {"cancel", cancelled, "enough"}, {"retry", cancelled},
		{"watch", "--exit-when-done", "--timeout", "1ms"}, {"wait", s.concluded(blackboard.Terminal), "--for", "question"},
	} {
		talk += "\n" + said(args...)
	}
	commands := regexp.MustCompile(`\bsett( --name stage)? [a-z]+[^;,:)\n]*`).FindAllString(talk, -1)
	if len(commands) < 10 {
		t.Errorf("%d commands in\n%s", len(commands), talk)
	}
	for _, line := range commands {
		line, _, _ = strings.Cut(line, " posts ")
		line, _, _ = strings.Cut(line, " follows ")
		words := strings.Fields(strings.ReplaceAll(line, `"…"`, "text"))
		if len(words) < 4 || words[1] != "--name" {
			t.Errorf("%q names no instance", line)
			continue
		}
		if words[3] == "watch" || words[3] == "logs" {
			continue // for ever, or of units that a stage has not
		}
		if _, _, err := s.run(words[1:]...); role.CodeOf(err) == role.Usage || role.CodeOf(err) == role.NotFound {
			t.Errorf("%q: %v", line, err)
		}
	}
}

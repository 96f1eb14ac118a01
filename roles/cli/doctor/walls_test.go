package doctor

import (
	"strings"
	"testing"

	"sett/contract/config"
)

func TestWalls(t *testing.T) {
	local := func(l *config.Local) *config.Config { return &config.Config{Runtime: config.RuntimeProcess, Local: l} }
	walls := local(&config.Local{})
	for _, c := range []struct {
		c            *config.Config
		level        int
		status, text string
	}{
		{nil, 7, Skipped, "local mode"}, {&config.Config{Runtime: config.RuntimeDocker}, 7, Skipped, "local mode"},
		{local(nil), 7, Warning, "without walls"}, {local(nil), 0, Warning, "without walls"},
		{walls, 7, OK, "(Landlock 7)"}, {walls, 2, Warning, "cannot refuse emptying a file"}, {walls, 0, Warning, "nothing keeps tools"},
	} {
		if got := wallsOf(c.c, c.level); len(got) != 1 || got[0].Status != c.status || !strings.Contains(got[0].Finding, c.text) {
			t.Errorf("%+v at %d: %+v", c.c, c.level, got)
		}
	}
}

package orchestrator

import (
	"strings"
	"testing"

	"sett/blackboard/boardtest"
)

// An orchestrator that waits for sett up to convert the records says in its log how that ends, once,
// and that it goes on.
func TestConversionIsLogged(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	set := func(schema string) {
		t.Helper()
		_, err := boardtest.Send(strings.TrimPrefix(s.url, "redis://"), "HSET", "sett:{test}:instance", "schema", schema)
		s.must(err)
	}
	set("1 to 2")
	l := s.lead(inPlace(newPlace()))
	s.until("its word of the wait", func() bool { return strings.Contains(l.log.String(), "if none is running, run sett up") })
	if said := l.log.String(); strings.Contains(said, "going on") {
		t.Errorf("the log says %s", said)
	}
	set("2")
	l.leads()
	if said := l.log.String(); strings.Count(said, "sett up has to convert") != 1 || strings.Count(said, "the records are converted; going on") != 1 {
		t.Errorf("the log says %s", said)
	}
}

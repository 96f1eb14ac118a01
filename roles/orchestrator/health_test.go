package orchestrator

import (
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
	"sett/contract/env"
	"sett/roles/role"
	"sett/runtime"
)

// address waits for where the orchestrator serves its health.
func (l *leader) address() (url string) {
	l.s.Helper()
	served := regexp.MustCompile(`health checks served".* addr=(\S+)`)
	l.s.until("its address", func() bool {
		m := served.FindStringSubmatch(l.log.String())
		if m != nil {
			url = "http://" + m[1]
		}
		return m != nil
	})
	return url
}

func (s *sett) get(url string) (int, string) {
	s.Helper()
	res, err := http.Get(url)
	s.must(err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	s.must(err)
	return res.StatusCode, string(body)
}

func TestHealth(t *testing.T) {
	t.Parallel()
	r := redistest.Embedded(t)
	s := newSettAt(t, r.URL, "a")
	url := s.lead(options{vars: map[string]string{env.HealthAddr: "127.0.0.1:0"}}).address() + "/healthz"
	if code, body := s.get(url); code != http.StatusOK || body != "ok\n" {
		t.Errorf("healthy: %d %s", code, body)
	}
	r.Kill()
	s.until("503", func() bool {
		code, body := s.get(url)
		return code == http.StatusServiceUnavailable && strings.Contains(body, r.Addr())
	})
	r.Restart()
	s.until("200", func() bool { code, _ := s.get(url); return code == http.StatusOK })
}

func TestHealthPortTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	s := newSett(t, "a")
	l := s.lead(options{vars: map[string]string{env.HealthAddr: taken.Addr().String()}})
	err = l.failed()
	var said strings.Builder
	role.Report(&said, err)
	if role.CodeOf(err) != role.Environment || !strings.Contains(said.String(), "hint: ") || !strings.Contains(said.String(), env.HealthAddr) {
		t.Errorf("it ended with %d: %s", role.CodeOf(err), said.String())
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a", "b", "c"), newPlace()
	o := trusting(p)
	o.vars[env.HealthAddr] = "127.0.0.1:0"
	l := s.lead(o)
	url := l.address() + "/metrics"
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a review", "b claim", "c exclusive")
	s.does(c, "a", review, "Review", "{}")
	s.does(c, "b", blackboard.Terminal, "Done", "x")
	s.does(c, "c", blackboard.Terminal, "Done", "y")
	s.ended(g, blackboard.WorkflowAchieved)
	c = s.claimOf(s.goal("g2"))
	s.bids(c, "a exclusive", "b ignore", "c ignore")
	s.starts(c, "a", s.incarnation(p, "agent-a"))
	p.exit("agent-a", runtime.Exit{Code: 1, Text: "exit status 1"})
	s.status(c, blackboard.Terminated)
	want := []string{
		`sett_claims_total{status="opened"} 2`, `sett_claims_total{status="complete"} 1`, `sett_claims_total{status="terminated"} 1`,
		`sett_grants_total{phase="review"} 1`, `sett_grants_total{phase="parallel"} 1`, `sett_grants_total{phase="exclusive"} 2`,
		`sett_consensus_wait_seconds_count 2`, `sett_phase_wait_seconds_count{phase="review"} 1`,
		`sett_phase_wait_seconds_count{phase="exclusive"} 2`, `sett_agent_restarts_total{agent="a"} 1`,
		`sett_grant_crashes_total{agent="a"} 1`, `sett_corrupt_records_total 0`, `sett_traces_waiting_oldest_age_seconds 0`, `sett_traces_refused_total 0`, `sett_claims_open 0`,
	}
	for _, line := range want {
		s.until(line, func() bool {
			_, body := s.get(url)
			return strings.Contains(body, line+"\n")
		})
	}
}

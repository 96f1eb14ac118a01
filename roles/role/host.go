package role

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"sett/runtime"
)

// guard refuses requests that were not meant for us. There is no password here,
// only the loopback address, and a browser on this machine reaches that for any
// page that has its own name resolve to it. Such a request still carries the
// page's name; ours carry an address, localhost, or the name of a container.
func guard(instance string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if !ours(r.Host, instance) {
			http.Error(w, "ask for an IP address or localhost, not for another host", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ours says whether a Host header names this machine or a container of the
// instance. Those are called sett-NAME.UNIT, where no top-level domain is called
// like a unit, so that nobody but the engine can resolve them.
func ours(hostport, instance string) bool {
	host := hostport
	if h, port, err := net.SplitHostPort(hostport); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if _, err := netip.ParseAddr(host); err == nil || strings.EqualFold(host, "localhost") {
		return true
	}
	unit, ok := strings.CutPrefix(host, "sett-"+instance+".")
	_, agent := runtime.AgentOf(unit)
	return ok && instance != "" && (agent || unit == runtime.ComponentOrchestrator) && !strings.Contains(unit, ".")
}

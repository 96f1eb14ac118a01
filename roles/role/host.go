package role

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"sett/runtime"
)

// Guard refuses requests for other hosts. There is no password, only the loopback
// address, and a web page can have its own name resolve to that address: then the
// browser of this machine sends its requests here. Such a request carries the page's
// name; ours carry an address, localhost, or the name of a container.
func Guard(instance string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if !ours(r.Host, instance) {
			http.Error(w, "use an IP address or localhost as the host", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ours says whether a Host header names this machine or a container of the
// instance. A container is called sett-NAME.UNIT. No top-level domain has the name
// of a unit, so only the engine can resolve it.
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
	return ok && instance != "" && (agent || unit == runtime.ComponentOrchestrator || unit == runtime.ComponentRepository || unit == runtime.ComponentModelGateway) && !strings.Contains(unit, ".")
}

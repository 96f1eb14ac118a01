package doctor

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"time"

	"sett/contract/config"
	"sett/roles/role"
	"sett/roles/role/otlp"
)

// traces asks the receiver of traces whether it is there, without a trace. One that sett.yml
// names is asked once a person agreed that it gets any.
func (x *exam) traces(ctx context.Context) []Finding {
	if x.sheet.config == nil {
		return nil
	}
	c, to := x.sheet.config, x.sheet.config.Otel // other checks read them meanwhile: neither is changed
	if to == nil {
		ambient, fault := config.AmbientOtel(x.at.Lookup)
		if fault != "" {
			return []Finding{warning("", "export another value, or unset it", "%s", fault)}
		}
		to = ambient
	}
	if to == nil {
		return nil
	}
	if asks, err := x.unagreed("otel."); err != nil || len(asks) > 0 {
		return []Finding{{Status: Skipped, Finding: "the receiver was not asked: sett up asks you for its rights first"}}
	}
	there, inside := "", false
	if containers, _ := x.inContainers(); containers && to.OfThisMachine() && c.Orchestrator.Run != config.RunHost {
		there, inside = bridgeAddress(), true
	}
	return x.receiver(ctx, to, inside, there)
}

// receiver asks a receiver as the orchestrator does. From a container that reaches one of this machine
// by the address there, which is empty where that is not known.
func (x *exam) receiver(ctx context.Context, to *config.Otel, inside bool, there string) (all []Finding) {
	at, connect := role.Clean(to.URL()), ""
	if inside {
		port := portOf(to.Endpoint)
		if there == "" {
			all = append(all, fine("", "the orchestrator's container reaches %s as this machine: the receiver must listen on %s, not on 127.0.0.1 alone", at, bridge(port)))
		} else if connect = net.JoinHostPort(there, port); !listens(ctx, connect) {
			return append(all, problem("", "have the receiver listen on "+connect+", not on 127.0.0.1 alone; goals run without it, and their traces wait",
				"the orchestrator's container does not reach %s: nothing listens on %s", at, connect))
		} else {
			all = append(all, fine("", "the orchestrator's container reaches %s as this machine, on %s", at, connect))
		}
	}
	headers, err := to.HeaderValues(x.at.Lookup)
	if err != nil {
		return append(all, problem("", "check "+headersOf(to)+"; goals run without it, and their traces wait", "%s: %v", at, err))
	}
	said, err := otlp.Receiver{URL: to.URL(), Headers: headers, Version: x.at.Build.String(), At: connect}.Send(ctx, nil)
	fault := otlp.Fault(err)
	switch {
	case err == nil && said.Says != "":
		return append(all, fine("", "%s takes traces, and says %q", at, said.Says))
	case err == nil:
		return append(all, fine("", "%s takes traces", at))
	case otlp.Refused(err):
		return append(all, problem("", "check "+endpointOf(to)+", and the receiver's own log; goals run without it, and a trace that it answers like that is dropped", "%s: %v", at, err))
	case fault != nil && fault.OfHeaders():
		return append(all, problem("", "check "+headersOf(to)+"; goals run without it, and their traces wait", "%s: %v", at, err))
	}
	return append(all, problem("", "check "+endpointOf(to)+"; goals run without it, and their traces wait", "%s: %v", at, err))
}

// endpointOf and headersOf are where a person says them.
func endpointOf(to *config.Otel) string {
	switch {
	case to.Found.Whole:
		return "the variable " + config.OtelTracesEndpoint
	case to.Found.Ambient:
		return "the variable " + config.OtelEndpoint
	}
	return "otel.endpoint"
}

func headersOf(to *config.Otel) string {
	switch {
	case to.Found.Ambient && len(to.Headers) > 0:
		return "the variable " + to.Headers[0].Name
	case to.Found.Ambient:
		return "the variable " + config.OtelHeaders
	}
	return "otel.headers"
}

func portOf(endpoint string) string {
	at, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return cmp.Or(at.Port(), usualPorts[at.Scheme])
}

// listens says whether somebody takes connections at an address of this machine.
func listens(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

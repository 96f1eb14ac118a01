package doctor

import (
	"context"
	"net/url"

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
	var all []Finding
	at := role.Clean(to.URL())
	if containers, _ := x.inContainers(); containers && to.OfThisMachine() && c.Orchestrator.Run != config.RunHost {
		port := ""
		if u, err := url.Parse(to.Endpoint); err == nil {
			port = u.Port()
		}
		all = append(all, fine("", "the orchestrator's container reaches %s as this machine: the receiver must listen on %s, not on 127.0.0.1 alone", at, bridge(port)))
	}
	if asks, err := x.unagreed("otel."); err != nil || len(asks) > 0 {
		return append(all, Finding{Status: Skipped, Finding: "the receiver was not asked: sett up asks you for its rights first"})
	}
	headers, err := to.HeaderValues(x.at.Lookup)
	if err == nil {
		err = otlp.Receiver{URL: to.URL(), Headers: headers, Version: x.at.Build.String()}.Send(ctx, nil)
	}
	if err != nil {
		from := "otel.endpoint"
		if to.Found.Ambient {
			from = "the variable " + config.OtelEndpoint
		}
		return append(all, problem("", "check "+from+"; goals run without it, and their traces wait", "%s: %v", at, err))
	}
	return append(all, fine("", "%s takes traces", at))
}

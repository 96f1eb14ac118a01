package instance

import (
	"net"
	"strconv"
	"testing"
)

// The ports of an instance differ from each other, stay, and are below those that systems hand out; a
// taken one gives way to another such port.
func TestFreeAddresses(t *testing.T) {
	in := &Instance{Dir: t.TempDir()}
	choose := func() {
		t.Helper()
		for name, part := range map[string]struct {
			at     *string
			choose func() (string, error)
		}{
			"health": {&in.Health, func() (string, error) { return in.FreeHealth("") }}, "repository": {&in.Repository, in.FreeRepository},
			"model-gateway": {&in.ModelGateway, func() (string, error) { return FreeGateway(in) }},
		} {
			at, err := part.choose()
			if err != nil {
				t.Fatal(err)
			}
			_, text, _ := net.SplitHostPort(at)
			if port, _ := strconv.Atoi(text); port < firstPort || port >= firstPort+portRange {
				t.Errorf("%s: %s", name, at)
			}
			*part.at = at
		}
		if in.Health == in.Repository || in.Repository == in.ModelGateway || in.ModelGateway == in.Health {
			t.Errorf("one port for two: %s %s %s", in.Health, in.Repository, in.ModelGateway)
		}
	}
	choose()
	before := in.State
	if choose(); in.Health != before.Health || in.Repository != before.Repository || in.ModelGateway != before.ModelGateway {
		t.Errorf("they do not stay: %+v, before %+v", in.State, before)
	}
	for _, at := range []string{before.Health, before.Repository, before.ModelGateway} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	choose()
	if in.Health == before.Health || in.Repository == before.Repository || in.ModelGateway == before.ModelGateway {
		t.Errorf("a taken port is chosen: %+v", in.State)
	}
}

package gateway

import (
	"testing"

	"sett/contract/env"
	"sett/contract/model"
	"sett/roles/role/modeltest"
)

// counted is the sum of a counter of the model smart, of one kind where it has kinds; 0: there is none.
func (p *place) counted(name, kind string) (sum float64) {
	p.t.Helper()
	all, err := p.server.metrics.Gather()
	p.board.Must(err)
	for _, family := range all {
		for _, m := range family.GetMetric() {
			of := map[string]string{}
			for _, l := range m.GetLabel() {
				of[l.GetName()] = l.GetValue()
			}
			if family.GetName() == name && of["model"] == "smart" && of["kind"] == kind {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// What a call took, in tokens and in money, is counted by model; a model without a price has no cost.
func TestMetricsOfCalls(t *testing.T) {
	for _, price := range []*model.Price{{Input: model.Unit, Output: 2 * model.Unit}, nil} {
		p := newPlace(t, func(g *env.Gateway) { g.Models[0].Price = price }, modeltest.Text("fine"))
		p.ask(ask{})
		p.board.Until("the account", func() bool { return p.spent().Calls == 1 })
		s := p.only()
		if got := p.counted("sett_model_tokens_total", "input"); got == 0 || got != float64(s.Input) {
			t.Errorf("%v tokens in, the account has %d", got, s.Input)
		}
		if got := p.counted("sett_model_cost_total", ""); got != float64(s.Cost)/float64(model.Unit) || (got == 0) != (price == nil) {
			t.Errorf("cost %v, the account has %s", got, s.Cost)
		}
	}
}

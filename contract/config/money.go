package config

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"sett/contract/model"
)

var tokenAmount = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]{1,12})(?:\.([0-9]{1,9}))?([kKM])?$`)
})

// tokensPart is a number of tokens; units are powers of 1000. Zero stands for no value.
func tokensPart(r *reader, into *int64) part {
	return part{
		read: func(n *node, path string) {
			s, ok := r.written(n, path)
			if !ok {
				return
			}
			v, ok := model.ParseTokens(s)
			if !ok {
				r.add(n.at, "digits, or a number with k or M: 200k", "%s is not a number of tokens: %s", path, quote(s))
				return
			}
			*into = v
		},
		shape: func() *schema {
			one := 1
			return &schema{AnyOf: []*schema{
				{Type: kinds{"number"}, Minimum: &one},
				{Type: kinds{"string"}, Pattern: tokenAmount().String(), AllOf: []*schema{{Pattern: notZero}}}}}
		},
		write: func() any {
			if *into == 0 {
				return nil
			}
			return *into
		},
	}
}

// moneyPart is an amount of the currency of sett.yml's prices.
func moneyPart(r *reader, into *model.Money, zero bool) part {
	return part{
		read: func(n *node, path string) {
			s, ok := r.written(n, path)
			if !ok {
				return
			}
			v, ok := model.ParseMoney(s)
			if !ok || v == 0 && !zero {
				hint := "a number such as 2 or 0.25, without a currency"
				if ok {
					hint = "more than 0; leave it out where there is no limit"
				}
				r.add(n.at, hint, "%s is not an amount of money: %s", path, quote(s))
				return
			}
			*into = v
		},
		shape: func() *schema {
			number := &schema{Type: kinds{"number"}, Minimum: new(int), Maximum: int(model.MostMoney / model.Unit)}
			text := &schema{Type: kinds{"string"}, Pattern: `^[0-9]{1,7}(\.[0-9]{1,9})?$`}
			if !zero {
				number.Minimum, number.Above = nil, new(int)
				text.AllOf = []*schema{{Pattern: notZero}}
			}
			return &schema{AnyOf: []*schema{number, text}}
		},
		write: func() any {
			if *into == 0 && !zero {
				return nil
			}
			return json.Number(plainMoney(*into))
		},
	}
}

// plainMoney writes an amount as sett.yml has it: 0.3, 15.
func plainMoney(m model.Money) string {
	return strings.TrimSuffix(strings.TrimRight(m.String(), "0"), ".")
}

// temperaturePart is a number from 0 to 2.
func temperaturePart(r *reader, into **float64) part {
	most := 2
	return part{
		read: func(n *node, path string) {
			s, ok := r.written(n, path)
			if !ok {
				return
			}
			v, err := strconv.ParseFloat(s, 64)
			if n.kind == text || n.kind == boolean || err != nil || math.IsNaN(v) || v < 0 || v > float64(most) {
				r.add(n.at, "a number from 0 to 2, such as 0.2", "%s is not a temperature: %s", path, quote(s))
				return
			}
			*into = &v
		},
		shape: func() *schema { return &schema{Type: kinds{"number"}, Minimum: new(int), Maximum: most} },
		write: func() any {
			if *into == nil {
				return nil
			}
			return json.Number(strconv.FormatFloat(**into, 'f', -1, 64))
		},
	}
}

// spanPart is a duration of a budget; zero stands for no value.
func spanPart(r *reader, into *time.Duration) part {
	p := r.duration(into, false)
	shape := p.shape
	p.shape = func() *schema { s := shape(); s.Default = nil; return s }
	p.write = func() any {
		if *into == 0 {
			return nil
		}
		return shortDuration(*into)
	}
	return p
}

// budgetFields are the limits of a budget.
func (d *decoder) budgetFields(b *model.Budget) []field {
	n := int(b.Calls)
	calls := d.read.count(&n, 1)
	read, write := calls.read, calls.write
	calls.read = func(at *node, path string) { read(at, path); b.Calls = int64(n) }
	calls.write = func() any { n = int(b.Calls); return write() }
	return []field{
		{"cost", "By the models' prices, in their currency.", moneyPart(d.read, &b.Cost, false)},
		{"tokens", "Of input and output, those of caches among them: a number, or one with k or M.", tokensPart(d.read, &b.Tokens)},
		{"calls", "Of models.", calls},
		{"time", "The running time of agents with a model.", spanPart(d.read, &b.Time)},
	}
}

package model

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MostMoney is the largest amount that sett.yml and people may name: the blackboard
// compares amounts up to it exactly.
const MostMoney = 9_000_000 * Unit

// ParseMoney reads an amount as people write it: 2, 0.25. There is no sign, no currency
// and no more than nine digits after the point.
func ParseMoney(s string) (Money, bool) {
	n, ok := parseDecimal(s, int64(Unit))
	return Money(n), ok && Money(n) <= MostMoney
}

// ParseTokens reads a number of tokens above 0: 1500, 200k, 1.5M.
func ParseTokens(s string) (int64, bool) {
	unit := int64(1)
	switch {
	case strings.HasSuffix(s, "k"), strings.HasSuffix(s, "K"):
		unit = 1000
	case strings.HasSuffix(s, "M"):
		unit = million
	}
	if unit > 1 {
		s = s[:len(s)-1]
	}
	n, ok := parseDecimal(s, unit)
	return n, ok && n > 0 && n <= mostTokens
}

// mostTokens is exact in the numbers of the blackboard's scripts, also after sums.
const mostTokens = 1_000_000_000_000

// parseDecimal reads a decimal number as that many parts of one; more digits than parts
// have are refused.
func parseDecimal(s string, unit int64) (int64, bool) {
	whole, fraction, point := strings.Cut(s, ".")
	digits := len(strconv.FormatInt(unit, 10)) - 1
	if !isDigits(whole) || point && (!isDigits(fraction) || len(fraction) > digits) {
		return 0, false
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > (math.MaxInt64-unit)/unit {
		return 0, false
	}
	part := int64(0)
	if digits > 0 {
		part, err = strconv.ParseInt(fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
	}
	return n*unit + part, err == nil
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// ParseMore reads a person's answer to the question for more of a budget: "more: cost=5",
// or several limits with spaces or commas between them, also without the colon. The amounts are additions. asked
// is false where the answer does not begin with that word, and err then says nothing.
func ParseMore(answer string) (more Budget, asked bool, err error) {
	rest, asked := cutPrefixFold(strings.TrimSpace(answer), "more")
	if next, _ := utf8.DecodeRuneInString(rest); !asked || unicode.IsLetter(next) || unicode.IsDigit(next) {
		return Budget{}, false, nil
	}
	rest = strings.TrimPrefix(strings.TrimLeft(rest, " \t\r\n"), ":")
	words := strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
	if len(words) == 0 {
		return Budget{}, true, fmt.Errorf("%q names no limit; %s", answer, moreForm)
	}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		if err := more.add(name, value); err != nil {
			return Budget{}, true, err
		}
	}
	return more, true, nil
}

// answered begins an Answer that has the words of another one.
const answered = "as answered: "

// SayAnsweredBy is an Answer that repeats the one with the id.
func SayAnsweredBy(id string) string { return answered + id }

// AnsweredBy returns the id of the Answer that an answer repeats; empty: it has words of its own.
func AnsweredBy(answer string) string {
	id, ok := strings.CutPrefix(answer, answered)
	if !ok {
		return ""
	}
	return strings.TrimSpace(id)
}

// Has reports whether a budget has a limit of a unit.
func (b Budget) Has(unit string) bool {
	return map[string]bool{"cost": b.Cost != 0, "tokens": b.Tokens != 0, "calls": b.Calls != 0, "time": b.Time != 0}[unit]
}

const moreForm = "write more: cost=5, tokens=2M, calls=100 or time=1h"

// add sets one limit, once.
func (b *Budget) add(name, value string) error {
	var ok, twice bool
	switch strings.ToLower(name) {
	case "cost":
		twice = b.Cost != 0
		b.Cost, ok = ParseMoney(value)
		ok = ok && b.Cost > 0
	case "tokens":
		twice = b.Tokens != 0
		b.Tokens, ok = ParseTokens(value)
	case "calls":
		twice = b.Calls != 0
		n, err := strconv.ParseInt(value, 10, 32)
		b.Calls, ok = n, err == nil && n > 0
	case "time":
		twice = b.Time != 0
		d, err := time.ParseDuration(value)
		b.Time, ok = d, err == nil && d > 0
	default:
		return fmt.Errorf("unknown limit %.40q; %s", name, moreForm)
	}
	switch {
	case !ok:
		return fmt.Errorf("%.40q is no amount of %s; %s", value, strings.ToLower(name), moreForm)
	case twice:
		return fmt.Errorf("%s is there twice; %s", strings.ToLower(name), moreForm)
	}
	return nil
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// IsZero says whether the budget bounds nothing.
func (b Budget) IsZero() bool { return b == Budget{} }

// Plus returns the budget with more of the limits that it has. A limit that it has not
// stays away: there is nothing to raise.
func (b Budget) Plus(more Budget) Budget {
	if b.Cost > 0 {
		b.Cost = min(b.Cost+more.Cost, MostMoney)
	}
	if b.Tokens > 0 {
		b.Tokens = min(b.Tokens+more.Tokens, mostTokens)
	}
	if b.Calls > 0 {
		b.Calls += more.Calls
	}
	if b.Time > 0 {
		b.Time += more.Time
	}
	return b
}

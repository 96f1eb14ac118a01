package config

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sett/blackboard"
)

// duration is a time with units. Where zero is allowed it may be a bare 0.
func (r *reader) duration(into *time.Duration, zero bool) part {
	standard := *into
	return part{
		read: func(n *node, path string) { r.readDuration(n, path, into, zero) },
		shape: func() *schema {
			s := &schema{Type: kinds{"string"}, Pattern: durationPattern, Default: shortDuration(standard)}
			if !zero {
				s.AllOf = []*schema{{Pattern: notZero}}
				return s
			}
			return &schema{AnyOf: []*schema{{Type: s.Type, Pattern: s.Pattern}, {Enum: []any{0}}}, Default: s.Default}
		},
		write: func() any { return shortDuration(*into) },
	}
}

// durationPattern matches the durations of time.ParseDuration, without negative ones;
// notZero matches all but zero.
const (
	durationPattern = `^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`
	notZero         = `[1-9]`
)

// shortDuration writes 5m in place of Go's 5m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if d < time.Second {
		return s // 0s, 500ms
	}
	for _, zero := range []string{"0s", "0m"} {
		if len(s) > len(zero)+1 && strings.IndexByte("hm", s[len(s)-len(zero)-1]) >= 0 {
			s = strings.TrimSuffix(s, zero)
		}
	}
	return s
}

var (
	durationForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(durationPattern) })
	daysForm     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,4}) *(d|days?|w|weeks?)$`) })
)

// durationHint is the hint for a text that is no duration.
func durationHint(n *node, s string) string {
	if n.kind == integer {
		return "add a unit: " + strings.TrimSpace(s) + "s"
	}
	if m := daysForm().FindStringSubmatch(s); m != nil {
		hours, _ := strconv.Atoi(m[1]) // of digits alone
		if hours *= 24; m[2][0] == 'w' {
			hours *= 7
		}
		return fmt.Sprintf("in hours, the longest unit: %dh", hours)
	}
	return "a number with a unit: 90s, 5m, 1h30m"
}

func (r *reader) readDuration(n *node, path string, into *time.Duration, zero bool) {
	s, ok := r.written(n, path)
	if !ok {
		return
	}
	v, err := time.ParseDuration(s)
	switch {
	case err != nil && durationForm().MatchString(s):
		r.add(n.at, fmt.Sprintf("at most %dh, about 292 years", math.MaxInt64/time.Hour), "%s is too long: %s", path, quote(s))
	case err != nil:
		r.add(n.at, durationHint(n, s), "%s is not a duration: %s", path, quote(s))
	case v < 0:
		r.add(n.at, "", "%s must not be negative: %s", path, s)
	case v == 0 && !zero:
		r.add(n.at, "", "%s must be longer than 0", path)
	default:
		*into = v
	}
}

var cpuAmount = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]{1,6}(\.[0-9]{0,9})?|\.[0-9]{1,9})$`)
})

// cpus is a number of processors, quoted or not.
func (r *reader) cpus(into *float64) part {
	return part{
		read: func(n *node, path string) {
			s, ok := r.written(n, path)
			if !ok {
				return
			}
			v, err := strconv.ParseFloat(s, 64)
			if err != nil || v == 0 || !cpuAmount().MatchString(s) {
				r.add(n.at, "a number above 0, such as '0.50'", "%s is not a number of processors: %s", path, quote(s))
				return
			}
			*into = v
		},
		shape: func() *schema {
			return &schema{AnyOf: []*schema{
				{Type: kinds{"number"}, Above: new(int), Below: 1_000_000},
				{Type: kinds{"string"}, Pattern: cpuAmount().String(), AllOf: []*schema{{Pattern: notZero}}}}}
		},
		write: func() any {
			if *into == 0 {
				return nil
			}
			return json.Number(strconv.FormatFloat(*into, 'f', -1, 64))
		},
	}
}

var memoryAmount = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]{1,19}(?:\.[0-9]{1,9})?) ?(?:([kmgtKMGT])[iI]?)?[bB]?$`)
})

// memory is an amount of bytes; units are powers of 1024, as in compose.
func (r *reader) memory(into *int64) part {
	return part{
		read: func(n *node, path string) {
			s, ok := r.written(n, path)
			if !ok {
				return
			}
			v, ok := parseMemory(s)
			if !ok {
				r.add(n.at, "bytes, or a number with k, m or g: 512M", "%s is not an amount of memory: %s", path, quote(s))
				return
			}
			*into = v
		},
		shape: func() *schema {
			one := 1
			return &schema{AnyOf: []*schema{
				{Type: kinds{"number"}, Minimum: &one},
				{Type: kinds{"string"}, Pattern: memoryAmount().String(), AllOf: []*schema{{Pattern: notZero}}}}}
		},
		write: func() any {
			if *into == 0 {
				return nil
			}
			return *into
		},
	}
}

func parseMemory(s string) (int64, bool) {
	m := memoryAmount().FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	shift := 10 * (strings.Index("kmgt", strings.ToLower(m[2])) + 1)
	if m[2] == "" {
		shift = 0
	}
	if v, err := strconv.ParseInt(m[1], 10, 64); err == nil {
		return v << shift, v > 0 && v <= math.MaxInt64>>shift
	}
	v, err := strconv.ParseFloat(m[1], 64)
	bytes := v * float64(int64(1)<<shift)
	if err != nil || bytes < 1 || bytes >= math.MaxInt64 {
		return 0, false
	}
	return int64(bytes), true
}

// bids is a mapping of artefact type patterns to bids.
func (r *reader) bids(into *[]BidRule) part {
	return part{
		read: func(n *node, path string) { r.readBids(n, path, into) },
		shape: func() *schema {
			bid := new(BidRule).Bid
			return orNothing(&schema{Type: kinds{"object"}, MinProperties: 1, PropertyNames: &schema{Pattern: visible},
				Additional: oneOf(r, &bid, bidWords()...).shape()})
		},
		write: func() any {
			var m pairs
			for _, rule := range *into {
				m = append(m, pair{rule.Type, rule.Bid})
			}
			if m == nil {
				return nil
			}
			return m
		},
	}
}

// bidWords are the bids that sett.yml may name.
func bidWords() []blackboard.BidType { return append(slices.Clone(blackboard.BidTypes), BidModel) }

func (r *reader) readBids(n *node, path string, into *[]BidRule) {
	if n.kind == mapping && len(n.entries) == 0 {
		r.add(n.at, "name artefact types, '*' for all, or leave it out", "%s is empty", path)
	}
	for _, e := range r.mapping(n, path) {
		if strings.TrimSpace(e.key.text) == "" {
			r.add(e.key.at, "'*' stands for all types", "%s: an empty artefact type", path)
			continue
		}
		if !r.clean(e.key, path) {
			continue
		}
		rule := BidRule{Type: e.key.text, Line: e.key.at.line}
		oneOf(r, &rule.Bid, bidWords()...).read(e.value, join(path, e.key.text))
		if rule.Bid != "" {
			r.typeAt(path, rule.Type, e.key.at)
			*into = append(*into, rule)
		}
	}
}

// redisURL checks without repeating the URL, which may hold a password.
var redisURL = check{blackboard.CheckURL, func(s *schema) {
	s.Pattern = `^rediss?://([^/?#]*@)?(\[[^\]/?#]+\]|[^\[\]/?#:@]+)(:[0-9]*)?(/[0-9]{0,10})?(\?[^#]*)?$`
	s.Examples = []any{
		"rediss://user:password@host:6379/0", "redis://:password@node1:6379?addr=node2:6379",
		"redis://:password@sentinel1:26379?master_set=mymaster&addr=sentinel2:26379&sentinel_password=other",
	}
}}

var imageReference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)
})

var imageName = check{checkImageName, func(s *schema) { s.Pattern = imageReference().String() }}

func checkImageName(s string) (fault, hint string) {
	if !imageReference().MatchString(s) {
		return "not an image reference: " + quote(s), "as in docker pull: registry/name:tag"
	}
	return "", ""
}

var roleName = check{checkRoleName, func(s *schema) {
	s.MaxLength = maxRole
	s.Not = &schema{Pattern: `^\s*([Uu][Ss][Ee][Rr]|[Hh][Uu][Mm][Aa][Nn]|[Oo][Rr][Cc][Hh][Ee][Ss][Tt][Rr][Aa][Tt][Oo][Rr])\s*$`}
}}

const maxRole = 128 // bytes

// checkRoleName reserves the roles of people and of Sett, in upper and lower case.
func checkRoleName(s string) (fault, hint string) {
	switch {
	case blackboard.ReservedRole(strings.ToLower(strings.TrimSpace(s))):
		return quote(s) + " is a reserved role", "user, human and orchestrator are not for agents"
	case printable(s) != s || len(s) > maxRole:
		return "not fit for a role: " + quote(s), fmt.Sprintf("one line of at most %d bytes", maxRole)
	}
	return "", ""
}

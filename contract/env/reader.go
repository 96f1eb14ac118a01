package env

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Values reads the variable HostValues.
func (r *Reader) Values() map[string]string {
	values := map[string]string{}
	r.array(HostValues, &values, "the JSON object that sett up gives")
	return values
}

func size(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// size reads a number of bytes above 0.
func (r *Reader) size(name string, byDefault int64) int64 {
	text := r.Or(name, "")
	if text == "" {
		return byDefault
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		r.wrong(name, text, "a number of bytes above 0")
		return byDefault
	}
	return n
}

// Errors lists every missing or broken variable, each with the expected form.
type Errors []string

func (e Errors) Error() string { return strings.Join(e, "\n") }

// Reader reads variables and collects their errors.
type Reader struct {
	Lookup   func(string) (string, bool)
	problems Errors
}

// Err returns the errors of the variables read so far, or nil.
func (r *Reader) Err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return r.problems
}

func (r *Reader) wrong(name, value, want string) {
	if value == "" {
		r.problems = append(r.problems, fmt.Sprintf("%s is not set; want %s", name, want))
		return
	}
	if slices.Contains(Secret, name) {
		value = "(not shown)"
	}
	r.problems = append(r.problems, fmt.Sprintf("%s is %q; want %s", name, value, want))
}

// Required reads a variable that must be set.
func (r *Reader) Required(name, want string) string {
	v, _ := r.Lookup(name)
	if v == "" {
		r.wrong(name, "", want)
	}
	return v
}

// Or reads a variable with a default.
func (r *Reader) Or(name, byDefault string) string {
	if v, ok := r.Lookup(name); ok && v != "" {
		return v
	}
	return byDefault
}

// OneOf reads a variable with one of a few words; the first is the default.
func (r *Reader) OneOf(name string, words ...string) string {
	v := r.Or(name, words[0])
	if !slices.Contains(words, v) {
		last := len(words) - 1
		r.wrong(name, v, strings.Join(words[:last], ", ")+" or "+words[last])
	}
	return v
}

// Span reads a duration, which must be positive.
func (r *Reader) Span(name string, byDefault time.Duration) time.Duration {
	v := r.Or(name, "")
	if v == "" {
		return byDefault
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 || (d == 0 && name != Grace) {
		r.wrong(name, v, "a positive duration such as 5m or 1.5s")
	}
	return d
}

func (r *Reader) array(name string, into any, want string) {
	v := r.Or(name, "")
	if v == "" {
		return
	}
	if err := json.Unmarshal([]byte(v), into); err != nil {
		r.wrong(name, v, want)
	}
}

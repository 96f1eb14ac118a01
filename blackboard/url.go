package blackboard

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Words about a URL that cannot be used.
const (
	urlForm    = "redis://user:password@host:6379/0, or rediss:// for TLS"
	urlEscapes = "in a user or password, / is written %2F, ? %3F, # %23, @ %40 and % %25"
)

// CheckURL names the fault of the URL of a Redis, and the right form; empty: it has none. Of the
// URL it repeats the scheme alone: the rest may be a part of a password that is not percent-encoded.
func CheckURL(raw string) (fault, hint string) {
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" {
		return "not a URL", urlForm + "; " + urlEscapes
	}
	given, err := url.ParseQuery(u.RawQuery)
	switch {
	case err != nil:
		return "not a URL", urlForm + "; " + urlEscapes
	case u.Scheme != "redis" && u.Scheme != "rediss":
		return "the scheme must be redis or rediss, not " + strconv.Quote(u.Scheme), urlForm
	case strings.Contains(raw, "#"), strings.Contains(u.Path, "@"), hasAt(given):
		return "a character of its user or password is not percent-encoded", urlEscapes
	case u.Hostname() == "":
		return "the URL names no host", urlForm
	}
	if db := strings.TrimPrefix(u.Path, "/"); db != "" && !isDatabase(db) {
		return "what follows the host must be a database number", urlForm
	}
	return checkParameters(given)
}

// hasAt says whether the name of a parameter looks like the end of a user and password.
func hasAt(given url.Values) bool {
	for name := range given {
		if strings.Contains(name, "@") {
			return true
		}
	}
	return false
}

// isDatabase says whether a text is the number of a database, without a sign.
func isDatabase(text string) bool {
	_, err := strconv.ParseUint(text, 10, 31)
	return err == nil
}

// checkParameters is CheckURL for the parameters behind the question mark. Others than those
// that Sett knows count for nothing.
func checkParameters(given url.Values) (fault, hint string) {
	wrong := func(name string, fits func(string) bool) bool {
		values, set := given[name]
		return set && slices.ContainsFunc(values, func(v string) bool { return !fits(v) })
	}
	isSpan := func(text string) bool { _, err := time.ParseDuration(text); return err == nil }
	isFlag := func(text string) bool { _, err := strconv.ParseBool(text); return text == "" || err == nil }
	switch {
	case given.Has("master_name"):
		return "the name of the Sentinels' master is called master_set, not master_name", "?master_set=mymaster"
	case !given.Has("master_set") && (given.Has("sentinel_username") || given.Has("sentinel_password")):
		return "sentinel_username and sentinel_password go with master_set", "?master_set=mymaster&sentinel_password=…"
	case wrong("db", isDatabase):
		return "the parameter db must be a database number", urlForm
	case wrong("skip_verify", isFlag):
		return "the parameter skip_verify must be true or false", "?skip_verify=true"
	case wrong("dial_timeout", isSpan), wrong("write_timeout", isSpan):
		return "the parameters dial_timeout and write_timeout must be durations", "redis.timeout in their place"
	}
	return "", ""
}

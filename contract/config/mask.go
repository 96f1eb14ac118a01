package config

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Masked takes the place of a secret.
const Masked = "********"

// WithoutSecrets returns a copy that can be shown: Masked replaces passwords in URLs,
// and the values of variables and build arguments with names of secrets. some says
// whether there were any.
func (c *Config) WithoutSecrets() (shown *Config, some bool) {
	shown = new(Config)
	*shown = *c
	shown.Agents = make([]Agent, len(c.Agents))
	for i, a := range c.Agents {
		shown.Agents[i] = a.withoutSecrets()
	}
	if c.Notify != nil {
		n := *c.Notify
		n.Command, n.Environment = maskAll(n.Command), maskVariables(n.Environment)
		shown.Notify = &n
	}
	if c.Otel != nil {
		o := *c.Otel
		o.Headers = maskVariables(o.Headers)
		shown.Otel = &o
	}
	shown.Models = nil
	for _, m := range c.Models {
		m.Headers = maskVariables(m.Headers)
		shown.Models = append(shown.Models, m)
	}
	shown.Redis.URL = maskURLs(c.Redis.URL)
	shown.Services.Redis.URL = maskURLs(c.Services.Redis.URL)
	return shown, !reflect.DeepEqual(shown, c)
}

func (a Agent) withoutSecrets() Agent {
	a.Command, a.BidScript = maskAll(a.Command), maskAll(a.BidScript)
	a.Environment = maskVariables(a.Environment)
	a.Prompts = Prompts{Claim: maskURLs(a.Prompts.Claim), Execution: maskURLs(a.Prompts.Execution)}
	if a.Build != nil && a.Build.Args != nil {
		b := *a.Build
		b.Args = make(map[string]string, len(a.Build.Args))
		for name, value := range a.Build.Args {
			b.Args[name] = EnvVar{Name: name, Value: value}.maskValue()
		}
		a.Build = &b
	}
	return a
}

func maskVariables(all []EnvVar) []EnvVar {
	var masked []EnvVar
	for _, v := range all {
		v.Value = v.maskValue()
		masked = append(masked, v)
	}
	return masked
}

// maskValue masks a literal part of a secret; a reference alone gives nothing away.
func (v EnvVar) maskValue() string {
	t := v.template()
	if t.bare() {
		return v.Value
	}
	if t.hasSecret() {
		return Masked
	}
	return maskValue(v.Name, v.Value)
}

// hasSecret says whether a variable with the name of a secret has a default here.
func (t template) hasSecret() bool {
	return slices.ContainsFunc(t, func(p piece) bool {
		return len(p.word) > 0 && (secretName(p.name) || p.word.hasSecret())
	})
}

func maskAll(words []string) []string {
	var masked []string
	for _, w := range words {
		masked = append(masked, maskURLs(w))
	}
	return masked
}

func maskValue(name, value string) string {
	if value != "" && secretName(name) {
		return Masked
	}
	return maskURLs(value)
}

func maskURLs(s string) string {
	s = sentinelPassword().ReplaceAllString(s, "${1}"+Masked)
	return urlPassword().ReplaceAllString(s, "${1}"+Masked+"@")
}

// sentinelPassword finds the password for Sentinels in a Redis URL.
var sentinelPassword = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([?&]sentinel_password=)[^&#\s]+`) })

// secretWord finds the words of secrets in a variable's name; some only as whole
// words, because of GIT_AUTHOR_NAME and MONKEYS.
var secretWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|APIKEY|(^|_)([A-Z]*KEY|KEYS|PASS|SSHPASS|O?AUTH|AUTHORIZATION|PRIVATE|COOKIE)(_|$)|_PWD(_|$)`)
})

func secretName(name string) bool {
	return secretWord().MatchString(strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
}

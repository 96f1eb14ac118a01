package blackboard

import (
	"strings"
	"testing"
)

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"redis://h", "redis://h/", "redis://h:1/0", "rediss://:p%2Fw@h/3", "redis://u:p@ss@h", "redis://[::1]:6379/2", "redis://h?addr=i:1&addr=j:2",
		"redis://:a@h?master_set=m&sentinel_password=a@b", "rediss://h?skip_verify", "rediss://h/?skip_verify=true&db=4", "redis://h?client_name=x",
	} {
		if fault, _ := CheckURL(good); fault != "" {
			t.Errorf("%s: %s", good, fault)
		}
	}
	for _, c := range []struct{ url, fault, hint string }{
		{"redis://:12/secret@h:1", "not percent-encoded", "%2F"}, {"redis://u:12/secret@h:1", "not percent-encoded", "%2F"},
		{"redis://:1?secret@h:1", "not percent-encoded", "%3F"}, {"redis://u:1?secret@h:1", "not percent-encoded", "%3F"},
		{"redis://u:1#secret@h", "not percent-encoded", "%23"}, {"redis://u:1/3?x=#secret@h", "not percent-encoded", "%23"},
		{"redis://:se#secret@h", "not a URL", "%23"}, {"redis://:sec%secret@h", "not a URL", "%25"}, {"redis://:secret/x@h", "not a URL", "%2F"},
		{"redis://h?sentinel_password=%secret", "not a URL", "%25"},
		{"redis://h/4/", "database number", ""}, {"redis://h//4", "database number", ""}, {"redis://h/secret", "database number", ""}, {"redis://h/-1", "database number", ""},
		{"redis://h/1/2", "database number", ""}, {"redis://h?db=secret", "the parameter db", ""}, {"redis://h?dial_timeout=secret", "durations", ""},
		{"rediss://h?skip_verify=secret", "skip_verify must be", ""}, {"redis://h?master_name=secret", "master_set", ""}, {"redis://h?sentinel_password=secret", "master_set", ""},
		{"http://secret@h", "the scheme", ""}, {"unix:///secret", "the scheme", ""}, {"h:6379", "not a URL", ""}, {"", "the scheme", ""}, {"redis:///0", "no host", ""},
	} {
		fault, hint := CheckURL(c.url)
		if !strings.Contains(fault, c.fault) || !strings.Contains(hint, c.hint) || strings.Contains(fault+hint, "secret") {
			t.Errorf("%s: %s | %s; want %s", c.url, fault, hint, c.fault)
		}
	}
}

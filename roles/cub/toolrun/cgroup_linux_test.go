package toolrun

import (
	"slices"
	"testing"
)

func TestGroupFiles(t *testing.T) {
	for name, c := range map[string]struct {
		groups string
		want   []string
	}{
		"v1, a host or a container": {"12:pids:/docker/ab\n4:cpuset,memory:/docker/ab\n0::/docker/ab\n",
			[]string{"/sys/fs/cgroup/memory/docker/ab/memory.oom_control", "/sys/fs/cgroup/memory/memory.oom_control"}},
		"v2, a container": {"0::/\n", []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory.events"}},
		"v2, a container in the host's namespace": {"0::/system.slice/docker-ab.scope\n",
			[]string{"/sys/fs/cgroup/system.slice/docker-ab.scope/memory.events", "/sys/fs/cgroup/memory.events"}},
		"outside the namespace": {"0::/../../x:y\n", []string{"/sys/fs/cgroup/x:y/memory.events", "/sys/fs/cgroup/memory.events"}},
		"none":                  {"3:cpu:/\nnonsense\n", nil},
	} {
		if got := groupFiles(c.groups, "memory", "memory.oom_control", "memory.events"); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestReadLimit(t *testing.T) {
	for content, want := range map[string]int64{
		"100663296\n": 96 << 20, "64\n": 64,
		"max\n": 0, "9223372036854771712\n": 0, "-1\n": 0, "0\n": 0, "": 0, // none
	} {
		if got := readLimit(write(t, "limit", content, 0o600)); got != want {
			t.Errorf("%q: got %d, want %d", content, got, want)
		}
	}
	if got := readLimit(t.TempDir() + "/none"); got != 0 {
		t.Errorf("a file that is not there: %d", got)
	}
}

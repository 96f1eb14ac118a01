package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
)

// contain runs redis-server in a container of its own. The container has the
// server's port and folders under their names on the host, and the test's user.
func (s *Server) contain(args []string) {
	s.tb.Helper()
	shared.Lock()
	defer shared.Unlock()
	if err := haveImage(); err != nil {
		s.tb.Skip("no redis-server on the PATH (apt-get install redis-server), and ", err)
	}
	binds := []string{s.Dir + ":" + s.Dir}
	for _, a := range args {
		if dir := filepath.Dir(a); strings.HasPrefix(a, "/") && a != s.Dir {
			binds = append(binds, dir+":"+dir)
		}
	}
	port := strconv.Itoa(s.port)
	r, err := shared.pool.RunWithOptions(&dockertest.RunOptions{
		Repository: imageName, Tag: imageTag, Labels: map[string]string{"sett.test": "redistest"},
		User: fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), Entrypoint: []string{"redis-server"}, Cmd: args, ExposedPorts: []string{port + "/tcp"},
	}, func(h *docker.HostConfig) {
		h.AutoRemove = true
		h.Binds = binds
		h.PublishAllPorts = false
		h.PortBindings = map[docker.Port][]docker.PortBinding{docker.Port(port + "/tcp"): {{HostIP: "127.0.0.1", HostPort: port}}}
	})
	if err != nil {
		s.tb.Fatalf("start redis-server in a container: %v", err)
	}
	id := r.Container.ID
	s.stop = func() {
		if err := shared.pool.Client.RemoveContainer(docker.RemoveContainerOptions{ID: id, Force: true, RemoveVolumes: true}); err != nil {
			s.tb.Errorf("remove the container of redis-server: %v", err)
		}
	}
	if err := awaitAnswer(s.Addr()); err != nil {
		s.tb.Fatal(err)
	}
}

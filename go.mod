module sett

go 1.26.0

require (
	charm.land/bubbletea/v2 v2.1.1 // the board: keys and a terminal that is drawn on, and left as it was
	github.com/alecthomas/kong v1.17.0 // the command line: a struct per command, its help from the same place
	github.com/alicebob/miniredis/v2 v2.40.0 // local mode's blackboard: Redis' commands and Lua in Go, which embedded/ makes durable
	github.com/charmbracelet/colorprofile v0.4.3 // its colours: asked for, it looks for them with programs
	github.com/chromedp/cdproto v0.159.0 // tests only: the words of a browser's debugging port
	github.com/chromedp/chromedp v0.23.0 // tests only: the page in a real browser
	github.com/containerd/errdefs v1.0.0 // which of the engine's errors it is, as its client says it
	github.com/creack/pty v1.1.24 // tests only: a terminal, for shells that complete what is typed
	github.com/distribution/reference v0.6.0 // names of images, as the engine reads them
	github.com/docker/docker v28.5.2+incompatible // containers: the engine's own client, negotiates its API's version
	github.com/docker/go-connections v0.5.0 // the engine's words for ports, in its client's types
	github.com/goccy/go-yaml v1.19.2 // sett.yml: its syntax tree has line and column, for errors that point
	github.com/moby/patternmatcher v0.6.1 // .dockerignore, as the engine's own client reads it
	github.com/muesli/cancelreader v0.2.2 // a read of the terminal that can be given up, as the board's own
	github.com/oklog/run v1.2.0 // a role's actors: the first to return stops all
	github.com/oklog/ulid/v2 v2.1.2 // ids: sortable by time, made without asking anybody
	github.com/ory/dockertest/v3 v3.12.0 // tests only: Redis in a container
	github.com/prometheus/client_golang v1.25.0 // metrics of the roles
	github.com/redis/rueidis v1.0.79 // the Redis client: pipelines what goroutines ask at the same time, and subscribes
	github.com/rivo/uniseg v0.4.7 // how many columns a text takes on a terminal
	github.com/rogpeppe/go-internal v1.16.0 // tests only: the command line as scripts
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // tests only: whether the schema of sett.yml says what its decoder does
	github.com/yuin/gopher-lua v1.1.1 // the Lua of local mode's scripts, in one state for all of them
	golang.org/x/crypto/x509roots/fallback v0.0.0-20261030153154-30a33513ff6d // Mozilla's roots, for parts in an image without any
	golang.org/x/sys v0.49.0 // tools' processes: subreaper, pidfd, locks, inotify
	golang.org/x/term v0.47.0 // whether output goes to a terminal
)

require (
	dario.cat/mergo v1.0.0 // indirect
	github.com/Azure/go-ansiterm v0.0.0-20230124172434-306776ec8161 // indirect
	github.com/Microsoft/go-winio v0.6.2 // indirect
	github.com/Nvveen/Gotty v0.0.0-20120604004816-cd527374f1e5 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cenkalti/backoff/v4 v4.3.0 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/charmbracelet/ultraviolet v0.0.0-20261008173134-6b8d4baf91b4 // indirect
	github.com/charmbracelet/x/ansi v0.11.9 // indirect
	github.com/charmbracelet/x/term v0.2.2 // indirect
	github.com/charmbracelet/x/termios v0.1.1 // indirect
	github.com/charmbracelet/x/windows v0.2.2 // indirect
	github.com/clipperhouse/displaywidth v0.11.0 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/containerd/continuity v0.4.5 // indirect
	github.com/containerd/errdefs/pkg v0.3.0 // indirect
	github.com/docker/cli v27.4.1+incompatible // indirect
	github.com/docker/go-units v0.5.0 // indirect
	github.com/felixge/httpsnoop v1.1.0 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/go-viper/mapstructure/v2 v2.1.0 // indirect
	github.com/google/shlex v0.0.0-20191202100458-e7afc7fbc510 // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/lucasb-eyer/go-colorful v1.4.1 // indirect
	github.com/mattn/go-runewidth v0.0.30 // indirect
	github.com/moby/docker-image-spec v1.3.1 // indirect
	github.com/moby/sys/atomicwriter v0.1.0 // indirect
	github.com/moby/sys/user v0.3.0 // indirect
	github.com/moby/term v0.5.0 // indirect
	github.com/morikuni/aec v1.1.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/opencontainers/image-spec v1.1.0 // indirect
	github.com/opencontainers/runc v1.2.3 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	github.com/sirupsen/logrus v1.9.3 // indirect
	github.com/xeipuuv/gojsonpointer v0.0.0-20190905194746-02993c407bfb // indirect
	github.com/xeipuuv/gojsonreference v0.0.0-20180127040603-bd5ef7bd5415 // indirect
	github.com/xeipuuv/gojsonschema v1.2.0 // indirect
	github.com/xo/terminfo v1.0.0 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp v0.72.0 // indirect
	go.opentelemetry.io/otel v1.47.0 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp v1.47.0 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	go.opentelemetry.io/otel/metric v1.47.0 // indirect
	go.opentelemetry.io/otel/trace v1.47.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	golang.org/x/time v0.16.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	gopkg.in/yaml.v2 v2.4.0 // indirect
)

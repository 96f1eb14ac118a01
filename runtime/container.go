package runtime

// The networks of a container.
const (
	NetworkInternal = "internal" // the instance's other containers only
	NetworkFull     = "full"     // and everything that the engine's bridge reaches
)

// Container describes a unit's container: its image, its view of the host and its
// limits. The place decides the rest, the same for all units: capabilities,
// privileges, logs.
type Container struct {
	Image      string   // reference or id; the engine must have it
	Entrypoint []string // the program, before Args, of a blackboard that is not Sett's; empty: the sett binary
	Binary     string   // volume with the sett binary, mounted read-only; empty: the program is Entrypoint, or Image is the control image
	User       string   // uid:gid; empty: the image's
	Mounts     []Mount
	Files      []File   // written before the start; below a writable volume of Mounts
	Network    string   // NetworkInternal or NetworkFull; empty: none
	Join       string   // a running unit; this one joins its network namespace instead
	Aliases    []string // its host names on the network
	Publish    Publish
	CPUs       float64 // processors, at most all of the engine's; 0: no limit
	Memory     int64   // bytes, swap included; 0: no limit
	Pids       int64   // processes and threads; 0: no limit
	CPUsKept   float64 // its weight when processors are short, in processors; 0: as every other
	MemoryKept int64   // bytes that it keeps when memory is short; 0: none
	Writable   bool    // its root file system is; otherwise only volumes and /tmp are
	Tmp        int64   // size of /tmp in bytes, which count as memory; 0: no /tmp
	Restart    bool    // the engine restarts it when it ends by itself, and with the machine
	ToHost     bool    // HostName is its name for the engine's host
	Socket     bool    // it gets the engine's socket, which controls the engine: the orchestrator alone
}

// HostName is the name of the engine's host in a container with ToHost.
const HostName = "host.docker.internal"

// Mount puts a directory of the host, or a volume, into a container.
type Mount struct {
	Source   string // absolute path on the engine's host, or the name of a volume
	Volume   bool   // Source names a volume, which is made unless it exists
	Target   string // absolute path in the container
	ReadOnly bool
}

// File is written into a container, with the directories above it.
type File struct {
	Path string // absolute path in the container
	Mode uint32 // permissions, such as 0o600; its owner is the container's user
	Data []byte
}

// Publish makes a port of a container reachable on the host's loopback address.
type Publish struct {
	Port int // in the container; 0: none is published
	Host int // on 127.0.0.1
}

// AgentNetwork returns the network of an agent's container. The tool may reach wanted:
// NetworkInternal, NetworkFull, or nothing for any other value. The cub in the same
// container must always reach the blackboard; it keeps the tool from the network.
func AgentNetwork(wanted string, boardInside bool) string {
	if wanted == NetworkFull || wanted != NetworkInternal && !boardInside {
		return NetworkFull
	}
	return NetworkInternal
}

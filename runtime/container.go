package runtime

// What a container may reach over the network.
const (
	NetworkInternal = "internal" // the instance's other containers only
	NetworkFull     = "full"     // and whatever the engine's bridge reaches
)

// Container is what makes a unit a container: its image, what of the host it sees
// and how much of it it may use. What is not in it is decided once for all by the
// place: capabilities, privileges, logs.
type Container struct {
	Image      string   // reference or id; it has to be on the engine already
	Entrypoint []string // what runs instead of the sett binary, before Args; empty: the sett binary
	Binary     string   // volume with the sett binary, mounted read-only; empty: Entrypoint, or else the image's own, is the program
	User       string   // uid:gid; empty: the image's
	Mounts     []Mount
	Files      []File   // put in place before it starts; below a writable volume of Mounts
	Network    string   // NetworkInternal or NetworkFull; empty: none at all
	Join       string   // unit whose network namespace it shares instead; that has to run
	Aliases    []string // host names by which others on the network find it
	Publish    Publish
	CPUs       float64 // processors, at most what the engine has; 0: no limit
	Memory     int64   // bytes, swap included; 0: no limit
	Pids       int64   // processes and threads; 0: no limit
	CPUsKept   float64 // processors that it gets where they are short, as a weight against others'; 0: as everybody
	MemoryKept int64   // bytes that it keeps where memory is short; 0: none
	Writable   bool    // its root file system; otherwise only volumes and /tmp can be written
	Tmp        int64   // size of /tmp in bytes, which counts as memory; 0: there is none
	Restart    bool    // the engine starts it again when it ends by itself, and with the machine
	Socket     bool    // it gets the engine's socket, and with it the engine: the orchestrator alone
}

// Mount is a directory of the host, or a volume, as a container sees it.
type Mount struct {
	Source   string // absolute path on the engine's host, or the name of a volume
	Volume   bool   // Source names a volume, made if need be
	Target   string // absolute path in the container
	ReadOnly bool
}

// File is a file to be put into a container. Directories on its way are made.
type File struct {
	Path string // absolute path in the container
	Mode uint32 // permissions, such as 0o600; its owner is the container's user
	Data []byte
}

// Publish is a port of a container that the host reaches on its loopback address.
type Publish struct {
	Port int // in the container; 0: none is published
	Host int // on 127.0.0.1
}

// AgentNetwork is what the container of an agent is on whose tool may reach wanted:
// NetworkInternal, NetworkFull, or anything else for nothing. Such a one still has to
// reach the blackboard, wherever that is: the cub keeps its tool from everything.
func AgentNetwork(wanted string, boardInside bool) string {
	if wanted == NetworkFull || wanted != NetworkInternal && !boardInside {
		return NetworkFull
	}
	return NetworkInternal
}

package blackboard

// MemoryKill says that the kernel killed a process for memory while a tool ran; empty:
// none, as far as the kernel tells.
type MemoryKill string

const (
	// KilledOfTool says that it was a process of the tool. Nothing else ran in its container meanwhile.
	KilledOfTool MemoryKill = "tool"
	// KilledBeside says that it was a process of the tool or of something that ran beside it. The kernel
	// counts for a container, and in local mode for more.
	KilledBeside MemoryKill = "beside"
)

// MetadataMemoryKill is the key of an artefact's metadata for the MemoryKill of its tool's run.
const MetadataMemoryKill = "memory_kill"

// Text says it in words; empty for any other value.
func (k MemoryKill) Text() string {
	switch k {
	case KilledOfTool:
		return "out of memory: a process of the tool was killed"
	case KilledBeside:
		return "out of memory: a process of the tool or beside it was killed"
	}
	return ""
}

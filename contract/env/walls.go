package env

// Walls are the places on a machine that the tool of a cub in local mode reaches.
type Walls struct {
	Write []string `json:"write"`          // files and directories, with everything below
	Hide  string   `json:"hide,omitempty"` // a directory that it cannot read
	Read  []string `json:"read,omitempty"` // places below Hide that it can
	Tmp   string   `json:"tmp"`            // its directory for temporary files, emptied for each run
}

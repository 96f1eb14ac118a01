package env

// The variables of the repository role, besides the instance's name.
const (
	RepositoryAddr = "SETT_REPOSITORY_ADDR" // where it listens, host:port
	RepositoryKey  = "SETT_REPOSITORY_KEY"  // the secret of which agents' tokens are made
	Store          = "SETT_STORE"           // directory of the store
	Trees          = "SETT_TREES"           // directory of the trees
	Objects        = "SETT_OBJECTS"         // the store's objects, as tools see them; default: the store's directory objects
)

// Repository has the settings of the repository role.
type Repository struct {
	Instance   string
	Addr, Key  string
	Store      string
	Trees      string
	Objects    string // empty: the store's own
	HealthAddr string
}

// ParseRepository reads the settings of the repository role. The error lists every wrong
// variable.
func ParseRepository(lookup func(string) (string, bool)) (Repository, error) {
	r := &Reader{Lookup: lookup}
	s := Repository{
		Instance:   r.Required(Instance, "the instance's name, such as my-sett"),
		Addr:       r.Required(RepositoryAddr, "where to listen, such as 127.0.0.1:7070"),
		Key:        r.Required(RepositoryKey, "the secret of which agents' tokens are made"),
		Store:      r.Required(Store, "the store's directory"),
		Trees:      r.Required(Trees, "the trees' directory"),
		Objects:    r.Or(Objects, ""),
		HealthAddr: r.Or(HealthAddr, ":8080"),
	}
	return s, r.Err()
}

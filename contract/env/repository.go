package env

// The variables of the repository role, besides the instance's name.
const (
	RepositoryAddr = "SETT_REPOSITORY_ADDR" // where it listens, host:port
	RepositoryKey  = "SETT_REPOSITORY_KEY"  // the secret of which agents' tokens are made
	Store          = "SETT_STORE"           // directory of the store
	Trees          = "SETT_TREES"           // directory of the trees
	Objects        = "SETT_OBJECTS"         // the store's objects, as tools see them; default: the store's directory objects
	LandInto       = "SETT_LAND_INTO"       // git directory of the user's repository, to land there; default: nothing lands
	TreeGit        = "SETT_TREE_GIT"        // the git directory of a read-only tree, as its tool sees it; default: the tree's own
)

// Repository has the settings of the repository role.
type Repository struct {
	Instance   string
	Addr, Key  string
	Store      string
	Trees      string
	Objects    string // empty: the store's own
	TreeGit    string // empty: each tree's own
	User       string // git directory of the user's repository; empty: nothing lands
	HealthAddr string
}

// Environ writes the variables, without the empty ones.
func (s Repository) Environ() []string {
	var out []string
	for _, v := range []struct{ name, value string }{
		{Instance, s.Instance}, {RepositoryAddr, s.Addr}, {RepositoryKey, s.Key}, {Store, s.Store}, {Trees, s.Trees},
		{Objects, s.Objects}, {TreeGit, s.TreeGit}, {LandInto, s.User}, {HealthAddr, s.HealthAddr},
	} {
		if v.value != "" {
			out = append(out, v.name+"="+v.value)
		}
	}
	return out
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
		TreeGit:    r.Or(TreeGit, ""),
		User:       r.Or(LandInto, ""),
		HealthAddr: r.Or(HealthAddr, ":8080"),
	}
	return s, r.Err()
}

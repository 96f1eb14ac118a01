package instance

// identityOf returns the identity of a repository, to which agreed rights are bound: that of its git directory, by the
// time at which it was made. Empty: the folder is in no git repository, and has nothing but its path.
//
// A path alone names no repository: another one may come to the same place. Its first commit does
// not tell it either: a fork has the same, and its maker chose the sett.yml. A git directory that
// comes by git init, git clone or a copy is a new one, and it stays the same when history is rewritten, or when there is
// none. All working trees of a repository share it. Nothing has to be written into the person's repository for it.
func identityOf(repository string) string {
	root, ok := Upward(repository, ".git")
	if !ok {
		return ""
	}
	shared := commonDir(root)
	if shared == "" {
		return ""
	}
	return identityOfDir(shared)
}

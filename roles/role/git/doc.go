// Package git runs git in a repository that an agent may have written: it runs no hook
// and no other program that the repository's configuration names.
package git

// Package ledger follows the ledger of an instance, and writes and reads archives of
// it: the file of an export, and the progress of a long one.
package ledger

// Package tool is the contract between a cub and an agent's tool: the JSON that
// the tool reads on stdin, the JSON that it must print on stdout, and the results
// that each grant allows (agent-pup.md section 7, m2.3-work-execution.md section 6).
//
// It performs no I/O: it neither runs tools (see roles/cub/toolrun) nor gathers
// their context (see roles/cub/assemble).
package tool

// Package chart draws views on a terminal: goals, claims and artefacts, the tree of a
// lineage, the chain of claims that led to an artefact, and the plan of a clan. It reads
// no blackboard.
package chart

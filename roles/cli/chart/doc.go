// Package chart draws the lineage of a goal and the plan of a clan on a terminal and for
// other tools: a tree of artefacts, the chain of claims that led to one, and the way of
// work that sett.yml says, before anything runs. roles/view/lineage reads the values.
package chart

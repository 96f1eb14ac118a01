// Package lineage reads all artefacts and claims of a goal and shows how they depend on
// each other: as a graph, drawn as a tree or for other tools, and as the chain of claims
// that led to one artefact. It also draws the way of work that sett.yml says, before
// anything runs. It writes nothing to the blackboard.
package lineage

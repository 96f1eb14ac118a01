// Package lineage reads all artefacts and claims of a goal and says how they depend on
// each other: as a graph, and as the chain of claims that led to one artefact. Its values
// know no terminal and no page. It writes nothing to the blackboard.
package lineage

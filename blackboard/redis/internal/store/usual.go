package store

import (
	"cmp"
	"maps"

	"sett/blackboard"
)

// A field of a record that has its usual value does not exist, which takes half of a small
// record's memory from it. Here are the usual values, as the scripts have them.

// usualOfArtefact are those of an artefact.
func usualOfArtefact(id string, fields map[string]string) map[string]string {
	return map[string]string{
		"id": id, "logical_id": id, "version": "1", "structural_type": "Standard", "source_artefacts": "[]", "produced_by_agent": "",
		"claim_id": "", "summary": "", "metadata": "{}", "produced_by_role": cmp.Or(fields["produced_by_agent"], blackboard.RoleUser),
	}
}

// usualOfClaim are those of a claim.
func usualOfClaim(id string, fields map[string]string) map[string]string {
	usual := map[string]string{
		"id": id, "granted_review_agents": "[]", "granted_parallel_agents": "[]", "granted_exclusive_agent": "", "origin": "artefact",
		"additional_context_ids": "[]", "reason": "", "target_version": "1", "target_agent": "",
		"target_role": cmp.Or(fields["target_agent"], blackboard.RoleUser),
	}
	if artefact, known := fields["artefact_id"]; known {
		usual["target_logical_id"] = artefact
	}
	if fields["retry_of"] != "" {
		usual["rework"] = ""
	}
	return usual
}

// WholeArtefact returns the stored fields of an artefact with the usual ones. There are none of
// an artefact that does not exist.
func WholeArtefact(id string, fields map[string]string) map[string]string {
	return whole(id, fields, usualOfArtefact)
}

// LeanArtefact is the reverse of WholeArtefact: the fields to store.
func LeanArtefact(id string, fields map[string]string) map[string]string {
	return lean(id, fields, usualOfArtefact)
}

func whole(id string, fields map[string]string, usual func(string, map[string]string) map[string]string) map[string]string {
	if len(fields) == 0 {
		return fields
	}
	all := usual(id, fields)
	maps.Copy(all, fields)
	return all
}

func lean(id string, fields map[string]string, usual func(string, map[string]string) map[string]string) map[string]string {
	left := make(map[string]string, len(fields))
	maps.Copy(left, fields)
	for name, value := range usual(id, fields) {
		if stored, known := left[name]; known && stored == value {
			delete(left, name)
		}
	}
	return left
}

#!/bin/sh
# The example agent. It reads its task as one JSON object on stdin:
#
#   {"claim_type": "exclusive", "target_artefact": {"type": "GoalDefined", "payload": "…", …}, "context_chain": […]}
#
# and answers with one JSON object on stdout. `sett logs example-agent` has its
# stderr. A shell is all it needs; write yours in any language.
set -eu

input=$(cat)

# The goal's text: the first payload, up to its closing quote. It stays escaped
# as in JSON, so it fits unchanged into our own JSON.
rest=${input#*'"payload":"'}
goal=$(printf '%s\n' "$rest" | sed -E 's/^(([^"\\]|\\.)*)".*/\1/')

echo "looking at the workspace" >&2
files=$(find . -path ./.git -prune -o -type f -print | wc -l | tr -d ' ')

# A Terminal ends the workflow: the goal is achieved. Leave structural_type out to
# hand the result on to other agents.
cat <<END
{
  "structural_type": "Terminal",
  "artefact_type": "ExampleReport",
  "artefact_payload": "Your goal was: $goal\nThe workspace has $files files.\n",
  "summary": "looked at $files files"
}
END

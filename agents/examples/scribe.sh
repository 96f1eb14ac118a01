#!/bin/sh
# Adds the goal to NOTES.md and commits it. The task is one JSON object on stdin, and
# much of it stands in variables, too.
set -eu
input=$(cat)

case $input in
*'"structural_type":"Review"'*) # feedback of a reviewer: this is a rework
    sed 's/TODO:* *//' NOTES.md >NOTES.md.new
    mv NOTES.md.new NOTES.md
    subject='Mend the note'
    ;;
*)
    # An agent that worked on the goal before, in parallel, may have left a wish.
    wish=$(printf '%s\n' "$input" | sed -nE 's/.*"type":"Wish","payload":"(([^"\\]|\\.)*)".*/\1/p' | sed -e 's/\\n/ /g' -e 's/\\\(.\)/\1/g')
    goal=${SETT_GOAL:-a long goal}
    printf -- '- %s%s\n' "$goal" "${wish:+ (for $wish)}" >>NOTES.md
    subject="Note: $(printf '%s\n' "$goal" | head -n 1)"
    ;;
esac

git add NOTES.md
git commit --quiet --allow-empty --message "$subject" >&2 # stdout is for the result alone
printf '{"artefact_type": "CodeCommit", "artefact_payload": "%s", "summary": "committed NOTES.md"}\n' "$(git rev-parse HEAD)"

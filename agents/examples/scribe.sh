#!/bin/sh
# Adds the goal to NOTES.md. Sett commits the change, and the first line that is printed
# sums it up. The task is one JSON object on stdin, and much of it stands in variables, too.
set -eu
input=$(cat)

case $input in
*'"structural_type":"Review"'*) # feedback of a reviewer: this is a rework
    sed 's/TODO:* *//' NOTES.md | cut -c-50 >NOTES.md.new
    mv NOTES.md.new NOTES.md
    echo 'mend the note'
    ;;
*)
    # An agent that worked on the goal before, in parallel, may have left a wish.
    wish=$(printf '%s\n' "$input" | sed -nE 's/.*"type":"Wish","payload":"(([^"\\]|\\.)*)".*/\1/p' | sed -e 's/\\n/ /g' -e 's/\\\(.\)/\1/g')
    goal=${SETT_GOAL:-a long goal}
    printf -- '- %s%s\n' "$goal" "${wish:+ (for $wish)}" >>NOTES.md
    echo "note: $goal"
    ;;
esac

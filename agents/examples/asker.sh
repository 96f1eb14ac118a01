#!/bin/sh
# Asks a person, and hands the answer on. The first run prints a Question; when it is
# answered, the program runs again with the Answer in its input.
set -eu
input=$(cat)

case $input in
*'"structural_type":"Answer"'*)
    # It stays escaped as in JSON, so it fits unchanged into our own JSON.
    answer=$(printf '%s\n' "$input" | sed -E 's/.*"structural_type":"Answer","type":"Answer","payload":"(([^"\\]|\\.)*)".*/\1/')
    printf '{"artefact_type": "Wish", "artefact_payload": "%s"}\n' "$answer"
    ;;
*)
    printf '{"structural_type": "Question", "payload": "Whom is this for?"}\n'
    ;;
esac

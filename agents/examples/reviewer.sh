#!/bin/sh
# Reviews a commit: each line that it adds has at most 50 characters.
set -eu
longest=$(git show --format= "$SETT_TARGET_PAYLOAD" | sed -n 's/^+\([^+]\)/\1/p' | awk 'length > n { n = length } END { print n + 0 }')

if [ "$longest" -le 50 ]; then
    printf '{"structural_type": "Review", "payload": {}}\n' # approves
else
    printf '{"structural_type": "Review", "payload": {"line": "%d characters, at most 50"}, "summary": "a line is too long"}\n' "$longest"
fi

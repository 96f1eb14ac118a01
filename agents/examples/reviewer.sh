#!/bin/sh
# Reviews a commit: the first line of its message has at most 50 characters.
set -eu
subject=$(git log -1 --format=%s "$SETT_TARGET_PAYLOAD")

if [ ${#subject} -le 50 ]; then
    printf '{"structural_type": "Review", "payload": {}}\n' # approves
else
    printf '{"structural_type": "Review", "payload": {"subject": "%d characters, at most 50"}, "summary": "the subject is too long"}\n' ${#subject}
fi

#!/bin/sh
# Proof reviews a commit: it runs the tests on it, away from the working tree, and
# rejects it with the failed tests.
. "${0%/*}/lib.sh"
unpack "$SETT_TARGET_PAYLOAD"
cd "$tree"

if test/run >"$scratch/report" 2>&1; then
    approve "tests: $(tail -n 1 "$scratch/report")"
else
    cat "$scratch/report" >&2
    failing=$(sed -n 's/^FAIL //p' "$scratch/report")
    reject "$(sed '/^ok /d; /^none /d' "$scratch/report")" "tests: $(tail -n 1 "$scratch/report"): $(echo $failing)"
fi

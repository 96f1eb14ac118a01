#!/bin/sh
# Proof reviews a commit: it runs the tests in its tree, and rejects the commit with the
# failed ones.
. "${0%/*}/lib.sh"

if report=$(test/run 2>&1); then
    approve "tests: $(printf '%s\n' "$report" | tail -n 1)"
else
    say "$report"
    failing=$(printf '%s\n' "$report" | sed -n 's/^FAIL //p')
    reject "$(printf '%s\n' "$report" | sed '/^ok /d; /^none /d')" \
        "tests: $(printf '%s\n' "$report" | tail -n 1): $(echo $failing)"
fi

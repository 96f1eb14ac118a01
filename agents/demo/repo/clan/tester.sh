#!/bin/sh
# The tester runs the tests of an approved commit with every shell it finds, and
# reports.
. "${0%/*}/lib.sh"

report=
good=
for shell in sh dash bash ksh mksh 'busybox sh'; do
    command -v "${shell%% *}" >/dev/null || continue
    if result=$(TEST_SHELL=$shell test/run 2>&1); then
        good="$good, $shell"
    fi
    report="$report$shell: $(printf '%s\n' "$result" | tail -n 1)
"
    say "$shell: $(printf '%s\n' "$result" | tail -n 1)"
done
publish Standard TestReport "$report" "works with ${good#, }"

#!/bin/sh
# The linter reviews a commit: every program must be valid sh and executable, and
# must explain its use.
. "${0%/*}/lib.sh"

faults=
fault() { faults="$faults$1
"; }
checked=0
for file in bin/*; do
    checked=$((checked + 1))
    said=$(sh -n "$file" 2>&1) || fault "$file: $said"
    [ -x "$file" ] || fault "$file: is not executable"
    grep -q "^# usage: ${file#bin/}" "$file" || fault "$file: does not say how it is used"
    if grep -q ' $' "$file"; then fault "$file: white space at the end of a line"; fi
done

if [ -n "$faults" ]; then
    reject "$faults" "$(printf '%s' "$faults" | head -n 1)"
else
    approve "$checked programs are valid sh and say how they are used"
fi

#!/bin/sh
# The linter reviews a commit: every program must be valid sh and executable, and
# must explain its use.
. "${0%/*}/lib.sh"
commit=$SETT_TARGET_PAYLOAD
unpack "$commit"
cd "$tree"

faults=
fault() { faults="$faults$1
"; }
checked=0
for program in $(git -C "$OLDPWD" ls-tree --name-only "$commit:bin"); do
    file=bin/$program
    checked=$((checked + 1))
    sh -n "$file" 2>"$scratch/said" || fault "$file: $(cat "$scratch/said")"
    [ -x "$file" ] || fault "$file: is not executable"
    grep -q "^# usage: $program" "$file" || fault "$file: does not say how it is used"
    if grep -n ' $' "$file" >"$scratch/said"; then fault "$file: white space at the end of a line"; fi
done

if [ -n "$faults" ]; then
    reject "$faults" "$(printf '%s' "$faults" | head -n 1)"
else
    approve "$checked programs are valid sh and say how they are used"
fi

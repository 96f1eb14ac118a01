#!/bin/sh
# The documenter writes and commits a page about each program of an approved commit:
# the program's own description, and its output for the input of a test.
. "${0%/*}/lib.sh"

done=
for program in $(programs "$SETT_TARGET_PAYLOAD"); do
    input=/dev/null
    for file in "test/$program"/*.in; do
        if [ -s "$file" ]; then input=$file; fi
    done
    args=
    if [ -e "${input%.in}.args" ]; then args=$(cat "${input%.in}.args"); fi
    mkdir -p docs
    {
        printf '# %s\n\n' "$program"
        sed -n 's/^# //p' "bin/$program" | sed 's/^/    /'
        printf '\nGiven\n\n'
        sed 's/^/    /' "$input"
        printf '\n`%s` prints\n\n' "$program${args:+ $args}"
        # shellcheck disable=SC2086 # a list of words
        sh "bin/$program" $args <"$input" | sed 's/^/    /'
    } >"docs/$program.md"
    git add "docs/$program.md"
    done="$done docs/$program.md"
done
if git diff --cached --quiet; then
    publish Standard DocCommit "$(git rev-parse HEAD)" "documentation is up to date:$done"
    exit
fi
git commit --quiet -m "Describe $(programs "$SETT_TARGET_PAYLOAD")"
publish Standard DocCommit "$(git rev-parse HEAD)" "wrote$done"

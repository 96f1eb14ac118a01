#!/bin/sh
# The writer writes the program that a goal names, and mends it when a reviewer
# rejects it. It is a script, so it knows a few programs by heart (clan/drafts); in a
# clan of yours a language model stands here. The Reviews on its stdin name the
# faults to mend.
. "${0%/*}/lib.sh"
drafts=${0%/*}/drafts
input=$(cat)

# draft PROGRAM commits its first version.
draft() {
    if [ -e "bin/$1" ]; then
        publish Failure ToolExecutionFailure "There is nothing to do: bin/$1 is there." "bin/$1 is there already"
        return
    fi
    cat "$drafts/$1" >"bin/$1"
    chmod +x "bin/$1"
    git add "bin/$1"
    git commit --quiet -m "Add $1"
    publish Standard CodeCommit "$(git rev-parse HEAD)" "wrote bin/$1"
}

# complaints lists PROGRAM/CASE of the tests that the Reviews say fail.
complaints() {
    printf '%s' "$input" | tr '\\' '\n' | sed -n 's,.*FAIL \([a-z]*/[a-z-]*\).*,\1,p' | sort -u
}

# mend COMMIT makes the changes that the reviewers ask for.
mend() {
    mended=
    for complaint in $(complaints); do
        program=${complaint%/*}
        change=$drafts/$program.${complaint#*/}.sed
        if [ -e "$change" ]; then
            say "mending $complaint"
            sed -f "$change" "bin/$program" >"bin/.$program"
            cat "bin/.$program" >"bin/$program"
            rm "bin/.$program"
            mended="$mended ${complaint#*/}"
        fi
    done
    if git diff --quiet; then
        publish Failure ToolExecutionFailure "$(complaints)" "does not know how to mend this"
        return
    fi
    git commit --quiet --all -m "Mend $(programs "$1"):$mended"
    publish Standard CodeCommit "$(git rev-parse HEAD)" "mended bin/$(programs "$1"):$mended"
}

if [ "$SETT_TARGET_TYPE" = CodeCommit ]; then
    mend "$SETT_TARGET_PAYLOAD"
    exit
fi
known=
for file in "$drafts"/*; do
    program=${file##*/}
    case $program in *.sed) continue ;; esac
    case ${SETT_TARGET_PAYLOAD-} in *"$program"*) draft "$program"; exit ;; esac
    known="$known $program"
done
publish Failure ToolExecutionFailure "This writer is a script and knows$known by heart." "knows only:$known"

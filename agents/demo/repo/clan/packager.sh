#!/bin/sh
# The packager packs the last commit, documentation included, and reaches the goal.
. "${0%/*}/lib.sh"

commit=$(git rev-parse HEAD)
short=$(git rev-parse --short HEAD)
mkdir -p dist
file=dist/wordkit-$short.tar
git archive --format=tar --prefix="wordkit-$short/" -o "$file" "$commit"
if command -v sha256sum >/dev/null; then
    sum="sha256 $(sha256sum <"$file" | cut -d' ' -f1)"
elif command -v shasum >/dev/null; then
    sum="sha256 $(shasum -a 256 <"$file" | cut -d' ' -f1)"
else
    sum="git-blob $(git hash-object "$file")"
fi
publish Terminal Release "archive   $file
commit    $commit
checksum  $sum
programs  $(echo $(git ls-tree --name-only "$commit:bin"))" "packed $file, $(printf '%s' "$sum" | cut -c1-23)"

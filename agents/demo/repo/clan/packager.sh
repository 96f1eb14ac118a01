#!/bin/sh
# The packager releases the commits of the writer and the documenter, which its tree has
# together, and reaches the goal. It keeps no archive: by the checksum, anybody can see
# that they packed the same.
. "${0%/*}/lib.sh"

commit=$(git rev-parse HEAD)
short=$(git rev-parse --short HEAD)
archive="git archive --format=tar --prefix=wordkit-$short/ $commit"
if command -v sha256sum >/dev/null; then
    sum="sha256 $($archive | sha256sum | cut -d' ' -f1)"
elif command -v shasum >/dev/null; then
    sum="sha256 $($archive | shasum -a 256 | cut -d' ' -f1)"
else
    sum="git-blob $($archive | git hash-object --stdin)"
fi
publish Terminal Release "archive   $archive
commit    $commit
checksum  $sum
programs  $(echo $(git ls-tree --name-only "$commit:bin"))" "packed wordkit-$short.tar, $(printf '%s' "$sum" | cut -c1-23)" "$commit"

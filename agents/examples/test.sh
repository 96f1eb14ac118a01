#!/bin/sh
# Tests the repository. Put your own tests here, as in: exec make test
# Until then it checks that every shell script is one.
set -eu
git ls-files '*.sh' | while IFS= read -r script; do
    sh -n "$script"
done

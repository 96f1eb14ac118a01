#!/bin/sh
# Runs all tests: each test/*.test is a shell script that fails or not.
bad=0
for t in test/*.test; do
    if sh "$t"; then echo "ok   $t"; else echo "FAIL $t"; bad=1; fi
done
exit $bad

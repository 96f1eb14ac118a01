# The functions of all scripts of the clan. Each script starts in a clean tree at the
# commit that it works on, where its commits carry the agent's name. The scripts run from
# a copy of clan/ that sett up takes: so a commit of an agent changes no script before a
# person types sett up again. They need only sh and git.
set -eu
LC_ALL=C
export LC_ALL

# say TEXT: talk goes to stderr, which Sett logs; stdout is for the result alone.
say() { printf '%s\n' "$*" >&2; }

# quote TEXT prints it as a JSON string.
quote() {
    printf '%s' "$1" | tr -d '\000-\010\013-\037' |
        sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/	/\\t/g' |
        awk 'BEGIN { printf "\"" } NR > 1 { printf "\\n" } { printf "%s", $0 } END { printf "\"" }'
}

# publish STRUCTURAL_TYPE TYPE PAYLOAD SUMMARY [COMMIT] prints the result.
publish() {
    printf '{"structural_type": "%s", "artefact_type": "%s", "artefact_payload": %s, "summary": %s%s}\n' \
        "$1" "$2" "$(quote "$3")" "$(quote "$4")" "${5:+, \"commit\": \"$5\"}"
}

# approve SUMMARY and reject FEEDBACK SUMMARY are the two verdicts of a reviewer: an
# empty object approves, anything else is feedback for the writer.
approve() { publish Review Review '{}' "$1"; }
reject() { publish Review Review "$1" "$2"; }

# programs COMMIT lists the programs that a commit touches.
programs() { git diff-tree --no-commit-id --name-only -r --root "$1" -- bin | sed 's,^bin/,,'; }

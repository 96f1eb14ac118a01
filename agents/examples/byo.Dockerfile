# The image of the example byo: a shell, curl and jq. Its program is that of the
# repository, as sett up pins it.
ARG BASE=alpine:3.20
FROM ${BASE}
RUN command -v curl >/dev/null && command -v jq >/dev/null || apk add --no-cache curl jq

# What the tests' agents are built on, where a registry and Alpine's packages can be
# reached. debian.sh makes the same without.
FROM alpine:3.20
RUN apk add --no-cache ca-certificates git jq

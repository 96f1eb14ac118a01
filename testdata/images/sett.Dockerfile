# The image of sett: the binary and nothing else. It is what releases publish and
# `make docker-build-all` makes, for COPY --from=sett /sett … in a Dockerfile and for
# services.orchestrator.image in sett.yml; `sett up` makes one of its own binary, without
# any Dockerfile. The context holds a binary per platform, linux/amd64/sett and so on.
FROM scratch
ARG TARGETPLATFORM
COPY ${TARGETPLATFORM}/sett /sett
ENTRYPOINT ["/sett"]

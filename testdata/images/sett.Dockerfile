# The image of sett: the binary and nothing else. It is what releases publish and
# `make docker-build-all` makes; `sett up` makes one of its own binary, without any
# Dockerfile, and brings that binary into the images of agents. The context holds a binary
# per platform, linux/amd64/sett and so on.
FROM scratch
ARG TARGETPLATFORM
COPY ${TARGETPLATFORM}/sett /sett
ENTRYPOINT ["/sett"]

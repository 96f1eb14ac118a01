# Sett's targets. `make` alone lists them.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# What the binary says of itself: the tag and what came after it, else dev.
VERSION ?= $(shell git describe --tags --dirty 2>/dev/null || echo dev)
COMMIT ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
LDFLAGS = -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
GOBUILD = CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)'

# Tools at the versions that .tools/go.mod pins; our own live beside it.
TOOL = go tool -modfile=.tools/go.mod
REPORT = go -C .tools run ./testreport

# Packages whose tests need more than Go: a redis-server, or the binary itself.
SLOW = /roles/e2e$$|/roles/bench$$|/blackboard/redis$$

# The race detector is linked by a C compiler. Without one it is left out, and the report says so.
RACE = $(shell command -v "$$(go env CC)" >/dev/null && echo -race)
MISSING = $(if $(RACE),,-missing 'race detector: no C compiler on the PATH (apt-get install gcc libc6-dev)')

# Releases. Built from source at this version: minutes, once. Or name one that is there.
GORELEASER ?= go run github.com/goreleaser/goreleaser/v2@v2.16.0
# What a snapshot has to leave out on this machine.
WITHOUT = $(if $(shell docker buildx version 2>/dev/null),,docker) $(if $(shell command -v syft),,sbom)

# The command that speaks to the container engine.
DOCKER ?= docker
export DOCKER

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build ./bin/sett, static
	$(GOBUILD) -o bin/sett .

.PHONY: man
man: build ## write the manual pages into ./bin/man
	@rm -rf bin/man
	./bin/sett man bin/man

.PHONY: completions
completions: build ## write the scripts that complete in shells into ./bin/completions
	@rm -rf bin/completions && mkdir -p bin/completions
	for shell in bash zsh fish; do ./bin/sett completion $$shell > bin/completions/sett.$$shell; done

.PHONY: demo
demo: build ## build, then watch a clan of scripts do real work
	./bin/sett demo

.PHONY: test
test: need-redis need-images ## run every test, with the race detector, and fuzz each target for seconds
	@{ bad=0; go test -timeout 20m -json $(RACE) ./... || bad=1; FUZZTIME=$${FUZZTIME:-3s} .ci/fuzz -json || bad=1; exit $$bad; } \
		| $(REPORT) $(MISSING)

.PHONY: test-fast
test-fast: ## run the tests that need nothing but Go
	@go test -json $(RACE) $$(go list ./... | grep -vE '$(SLOW)') | $(REPORT) $(MISSING) \
		-missing 'redis, end to end, fuzz: make test runs them'

.PHONY: fuzz
fuzz: ## fuzz every target for FUZZTIME (60s) each
	@FUZZTIME=$${FUZZTIME:-60s} .ci/fuzz

.PHONY: fuzz-short
fuzz-short: ## fuzz every target for 3 seconds, as make test does
	@FUZZTIME=3s .ci/fuzz

.PHONY: bench
bench: need-redis need-images ## measure speed against the floor of the same run
	go test -count=1 -timeout 30m -run TestBench -tags bench -v ./roles/bench/...

.PHONY: cover
cover: need-redis need-images ## measure coverage; fails below the minimum
	go test -coverpkg=./... -coverprofile=cover.out ./...
	@go -C .tools run ./coverage -total 60 \
		-min sett/contract/...=85 -min sett/blackboard/...=85 -min sett/roles/orchestrator/arbiter=85 \
		-min sett/roles/cub/toolrun=85 -min sett/roles/cub/assemble=85 $(CURDIR)/cover.out

.PHONY: lint
lint: ## gofmt, go vet, staticcheck, golangci-lint, tidy modules, shellcheck where it is installed
	@echo gofmt; files=$$(find . -name '*.go' -not -path '*/testdata/*' -exec gofmt -l {} +); \
		[ -z "$$files" ] || { echo "not gofmt'ed:" $$files; exit 1; }
	go mod tidy -diff
	go vet -tags bench ./...
	go -C .tools vet ./...
	$(TOOL) staticcheck -tags bench ./...
	$(TOOL) golangci-lint run
	@if command -v shellcheck >/dev/null; then echo shellcheck; shellcheck .ci/* testdata/images/*.sh agents/example-agent/run.sh roles/cli/completion.bash; \
		else echo 'shellcheck: not installed, shell scripts were not checked'; fi

.PHONY: vuln
vuln: ## look for known vulnerabilities in what we call (asks vuln.go.dev)
	$(TOOL) govulncheck ./...

.PHONY: images
images: ## make the images that tests use, also without a registry: redis and a base
	@testdata/images/images.sh

.PHONY: docker-build-all
docker-build-all: need-engine ## build the images sett:latest and that of each agent in ./agents
	arch=$$($(DOCKER) version --format '{{.Server.Arch}}'); dir=bin/image; \
		GOOS=linux GOARCH=$$arch $(GOBUILD) -o $$dir/linux/$$arch/sett .; \
		$(DOCKER) build --tag sett:latest --build-arg TARGETPLATFORM=linux/$$arch \
			--file testdata/images/sett.Dockerfile $$dir
	base=$$(testdata/images/images.sh base); for file in agents/*/Dockerfile; do \
		agent=$$(basename "$$(dirname "$$file")"); \
		$(DOCKER) build --tag "$$agent:latest" --build-arg "BASE=$$base" --file "$$file" .; done

.PHONY: release-check
release-check: ## validate .goreleaser.yaml
	$(GORELEASER) check

.PHONY: snapshot
snapshot: ## build what a release is made of into ./dist, as far as this machine can
	@$(if $(strip $(WITHOUT)),echo 'snapshot: left out for lack of a tool (docker: buildx; sbom: syft): $(strip $(WITHOUT))')
	$(GORELEASER) release --snapshot --clean $(WITHOUT:%=--skip=%)

.PHONY: clean
clean: ## remove what the targets above made
	rm -rf bin dist cover.out

.PHONY: need-redis
need-redis:
	@command -v redis-server >/dev/null || { \
		echo 'error: no redis-server on the PATH; the Redis suite starts its own.' >&2; \
		echo 'hint: apt-get install redis-server, brew install redis, or dnf install redis' >&2; exit 7; }

# A word when it makes some, none when they are there: they are looked for each time.
.PHONY: need-images
need-images:
	@testdata/images/images.sh

.PHONY: need-engine
need-engine:
	@$(DOCKER) version --format '{{.Server.Version}}' >/dev/null || { \
		echo 'hint: start the container engine; DOCKER_HOST says where another one is' >&2; exit 7; }

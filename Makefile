# Sett's targets. `make` alone lists them.

SHELL := /bin/sh
.SHELLFLAGS := -eu -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# What the binary says of itself: the tag and what came after it, else dev.
VERSION ?= $(shell git describe --tags --dirty 2>/dev/null || echo dev)
COMMIT ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
LDFLAGS = -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
GOBUILD = go build -ldflags '$(LDFLAGS)'

# The linter and the tests compile as the build does, so that each package is compiled
# once for all of them. The race detector needs cgo and has its own.
export CGO_ENABLED = 0
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)

# Tools at the versions that .tools/go.mod pins; our own live beside it.
TOOL = go tool -modfile=.tools/go.mod
# It is the command itself that make ends by a signal, and no shell around it.
TESTRUN = exec go -C .tools run ./testrun

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
test: setup ## run every test and fuzz each target for a second; set up what that needs
	@$(TESTRUN) $(if $(COVER),-cover $(COVER))

.PHONY: test-fast
test-fast: ## run the tests that need nothing but Go
	@$(TESTRUN) -fast

.PHONY: test-race
test-race: setup ## run every test with the race detector, the built binary included: minutes more
	@$(TESTRUN) -race

.PHONY: test-arm64
test-arm64: ## run the demo and a few tests end to end with the arm64 binary, under qemu where that must be
	@.ci/arm64

.PHONY: setup
setup: ## install what the tests need, where that is allowed, and make their images
	@.ci/setup

.PHONY: fuzz
fuzz: ## fuzz every target for FUZZTIME (60s) each
	@$(TESTRUN) -only-fuzz -fuzz $${FUZZTIME:-60s}

# Replay what failed with the seed that was printed: make chaos SEED=...
.PHONY: chaos
chaos: setup ## strike a clan with faults in a random order for CHAOS (10m), then audit its ledger
	SETT_CHAOS=$${CHAOS:-10m} SETT_CHAOS_SEED=$(or $(SEED),$(shell date +%s)) \
		go test -count=1 -v -timeout 60m -run '^TestChaos$$' ./roles/e2e

.PHONY: bench
bench: setup ## measure speed against the floor of the same run
	go test -count=1 -timeout 30m -run TestBench -tags bench -v ./roles/bench/...

# make test COVER=cover.out writes the profile as well; without one, the tests run.
cover.out: $(shell git ls-files '*.go' '*.lua')
	@exec $(MAKE) test COVER=cover.out

.PHONY: cover
cover: cover.out ## measure coverage; fails below the minimum
	@go -C .tools run ./coverage -total 60 \
		-min sett/contract/...=85 -min sett/blackboard/...=85 -min sett/roles/orchestrator/arbiter=85 \
		-min sett/roles/cub/toolrun=85 -min sett/roles/cub/assemble=85 $(CURDIR)/cover.out

.PHONY: judge
judge: ## hold the tests' models and the gateway against the official SDKs; compiles for minutes the first time
	go -C .judge vet ./...
	go -C .judge test -count=1 ./...

.PHONY: lint
lint: ## gofmt, golangci-lint with go vet and staticcheck in it, tidy modules, plain English, shellcheck where it is installed
	@echo gofmt; files=$$(find . -name '*.go' -not -path '*/testdata/*' -exec gofmt -l {} +); \
		[ -z "$$files" ] || { echo "not gofmt'ed:" $$files; exit 1; }
	go mod tidy -diff
	go -C .judge list -deps -test ./... >/dev/null
	go -C .tools vet ./...
	go -C .tools test ./...
	go -C .tools run ./english -except english/exceptions.txt ..
	$(TOOL) golangci-lint run
	@if command -v shellcheck >/dev/null; then echo shellcheck; shellcheck .ci/* testdata/images/*.sh agents/example-agent/run.sh roles/cli/shell/completion.bash; \
		else echo 'shellcheck: not installed, shell scripts were not checked'; fi

.PHONY: vuln
vuln: ## look for known vulnerabilities in what we call (asks vuln.go.dev)
	$(TOOL) govulncheck ./...

.PHONY: images
images: ## make the images that tests use, also without a registry: redis, git and a base
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
	$(GORELEASER) release --snapshot --clean --skip=sign $(WITHOUT:%=--skip=%) # only the workflow can sign

.PHONY: reproducible
reproducible: ## build twice, in two places with empty caches, and compare the bytes: minutes
	@.ci/reproducible

.PHONY: clean
clean: ## remove what the targets above made
	rm -rf bin dist cover.out

.PHONY: need-engine
need-engine:
	@$(DOCKER) version --format '{{.Server.Version}}' >/dev/null || { \
		echo 'hint: start the container engine; DOCKER_HOST says where another one is' >&2; exit 7; }

# `make` lists the targets. Every target can be run again at any time: it makes
# only what is missing or out of date.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory
.NOTPARALLEL:

GO ?= go
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -X main.version=$(VERSION)

# Without the paths of this machine and without cgo, all targets and all clones share Go's build cache.
# cmd/testrun switches cgo on for the race detector, which needs it.
export GOFLAGS := $(GOFLAGS) -trimpath
export CGO_ENABLED ?= 0

FUZZTIME ?= 20s

##@ Use it

.PHONY: run
run: build sample ## set up, build and start the server on http://localhost:8080
	@APP_ENV=$${APP_ENV-development} exec ./bin/showfloor serve

.PHONY: demo
demo: build sample ## go through one broadcast against a running server, step by step
	@exec ./bin/showfloor demo

.PHONY: sample
sample: sample.mp4 ## make sample.mp4, a 30 s test clip to publish

.PHONY: build
build: setup web ## build bin/showfloor
	@CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/showfloor ./cmd/showfloor

.PHONY: dev
dev: ## serve as `make run` does; generate, build and restart whenever a file changes, pages included
	@scripts/setup dev
	@exec scripts/dev

.PHONY: each-commit
each-commit: ## type-check each commit since the one that .ci/base names, tests included
	@$(GO) run ./cmd/eachcommit

.PHONY: setup
setup: ## install the system packages that `make run` needs (as root; else list them)
	@scripts/setup run

##@ Change it

.PHONY: test
test: setup-test build sample sdk generators .cache/bin/gotestsum .cache/bin/versitygw ## set up and run all tests
	@$(GO) build -o .cache/bin/ ./cmd/testdb ./cmd/testrun
	@SHOWFLOOR_BIN=$(CURDIR)/bin/showfloor SHOWFLOOR_SAMPLE=$(CURDIR)/sample.mp4 SHOWFLOOR_SDK=$(CURDIR)/sdk/typescript/dist \
		.cache/bin/testdb -- .cache/bin/gotestsum --format pkgname-and-test-fails $(TESTSUM_FLAGS) \
		--raw-command -- .cache/bin/testrun

# Generators of other projects, with which tests check the API document.
.PHONY: generators
generators: .cache/bin/ogen tools/node_modules/.package-lock.json

.PHONY: soak
soak: setup-test build sample sdk generators .cache/bin/gotestsum .cache/bin/versitygw ## run all tests N times (N=10) and list the tests that failed in some rounds
	@scripts/soak $(N)

.PHONY: setup-test
setup-test: ## install the system packages that `make test` needs (as root; else list them)
	@scripts/setup test

.PHONY: setup-bench
setup-bench:
	@scripts/setup bench

.PHONY: setup-generate
setup-generate:
	@scripts/setup generate

.PHONY: generate
generate: setup-generate .cache/bin/oapi-codegen .cache/bin/sqlc sdk/typescript/node_modules/.package-lock.json ## write gen/ from openapi/, schema/ and queries/
	@$(GO) run ./cmd/specbundle openapi/openapi.yaml gen/openapi.yaml gen/openapi-webhooks.yaml gen/samples.json .cache/events.yaml
	@mkdir -p gen/api gen/client gen/event
	@scripts/together '.cache/bin/oapi-codegen -config oapi-codegen.yaml gen/openapi.yaml' \
		'.cache/bin/oapi-codegen -config oapi-codegen.client.yaml gen/openapi.yaml' \
		'.cache/bin/oapi-codegen -config oapi-codegen.event.yaml .cache/events.yaml' \
		'cd sdk/typescript && npm run --silent types' \
		'.cache/bin/sqlc generate && scripts/remove-stale-queries'
	@$(GO) run ./cmd/accesstable gen/openapi.yaml gen/roles.md
	@$(GO) run ./cmd/eventtable gen/openapi.yaml gen/samples.json internal/outflow/event/event.go gen/events.md

.PHONY: verify
verify: generate .cache/bin/specdiff ## generate gen/ and check it, go.mod, the format, layers, queries' tenants, and that the API breaks neither clients nor its contract
	@scripts/verify-generated
	@.cache/bin/specdiff gen/openapi.yaml openapi/breaking.yaml
	@.cache/bin/sqlc vet
	@$(GO) mod tidy -diff
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' ':!gen' | xargs -r gofmt -l); \
		if [ -n "$$unformatted" ]; then echo "verify: run gofmt -w on:" $$unformatted; exit 1; fi
	@$(GO) vet ./...
	@$(GO) test ./internal/layers/ ./internal/document/contract/
	@echo "verify: all checks passed"

.PHONY: lint
lint: setup-generate lint-document lint-words .cache/bin/golangci-lint ## run the linters: .golangci.yml for Go, redocly.yaml for the API document
	@.cache/bin/golangci-lint run
	@cd tools/specdiff && $(CURDIR)/.cache/bin/golangci-lint run --config $(CURDIR)/.golangci.yml

# Phrases that readers stumble over, in comments, strings, documents and pages.
.PHONY: lint-words
lint-words:
	@$(GO) run ./cmd/wordcheck

# The linter sends no telemetry and doesn't check for updates, so it needs no network.
.PHONY: lint-document
lint-document: setup-generate tools/node_modules/.package-lock.json
	@REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true \
		tools/node_modules/.bin/redocly lint --config redocly.yaml

.PHONY: sdk
sdk: setup-generate sdk/typescript/dist/src/index.js ## compile the clients: TypeScript into sdk/typescript/dist, Go in gen/client
	@$(GO) build ./gen/client ./sdk/go
	@echo "the clients are compiled: sdk/typescript/dist and the package sdk/go; sdk/README.md says how to use them"

sdk/typescript/dist/src/index.js: sdk/typescript/node_modules/.package-lock.json $(wildcard gen/typescript/*.ts sdk/typescript/*.json sdk/typescript/src/*.ts sdk/typescript/test/*.ts web/src/rooms/*.ts web/src/shop/*.ts)
	@cd sdk/typescript && npm run --silent build
	@touch $@

.PHONY: bench
bench: setup-bench build sample .cache/bin/versitygw bench/node_modules/.package-lock.json ## set up and run the benchmarks, each against a baseline in the same run
	@$(GO) build -o .cache/bin/testdb ./cmd/testdb
	@SHOWFLOOR_BIN=$(CURDIR)/bin/showfloor SHOWFLOOR_SAMPLE=$(CURDIR)/sample.mp4 \
		.cache/bin/testdb -- $(GO) test -run '^$$' -bench . -timeout 90m ./bench/...

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (20s)
	@scripts/fuzz $(FUZZTIME)

.PHONY: todo
todo: ## list the operations that are not built yet
	@$(GO) run ./cmd/showfloor todo

.PHONY: clean
clean: ## remove what was built; data/ stays
	@rm -rf bin build .cache sample.mp4 web/node_modules tools/node_modules bench/node_modules sdk/typescript/node_modules sdk/typescript/dist
	@find web/dist -mindepth 1 ! -name .gitkeep -delete

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Pages: npm runs only if the lock file has changed, the compiler and the copy step
# only if a page has changed.
.PHONY: web
web: web/dist/index.html

web/dist/index.html: web/build.mjs web/tsconfig.json web/node_modules/.package-lock.json gen/typescript/api.ts go.mod $(shell find web/src -type f 2>/dev/null)
	@cd web && npm run --silent check
	@node web/build.mjs
	@$(GO) run ./cmd/licences .cache/packages.json web/dist/assets/licences.txt
	@touch $@

web/node_modules/.package-lock.json: web/package-lock.json
	@echo "fetching the scripts and the compiler of the web pages"
	@cd web && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

sdk/typescript/node_modules/.package-lock.json: sdk/typescript/package-lock.json
	@echo "fetching the generator and compiler of the TypeScript client"
	@cd sdk/typescript && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

tools/node_modules/.package-lock.json: tools/package-lock.json
	@echo "fetching the linter of the API document and the generators that tests use"
	@cd tools && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

bench/node_modules/.package-lock.json: bench/package-lock.json
	@echo "fetching Lighthouse, which scores pages in a benchmark"
	@cd bench && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# H.264 720p30 at 2.5 Mbit/s with a key frame every 2 s and B-frames, AAC at
# 128 kbit/s: what a phone or OBS sends.
sample.mp4:
	@echo "making sample.mp4"
	@mkdir -p build
	@ffmpeg -hide_banner -loglevel error -y \
		-f lavfi -i testsrc2=size=1280x720:rate=30 -f lavfi -i sine=frequency=440:beep_factor=4:sample_rate=48000 \
		-t 30 -pix_fmt yuv420p -c:v libx264 -preset veryfast -profile:v high \
		-b:v 2500k -maxrate 2500k -bufsize 2500k -g 60 -keyint_min 60 -sc_threshold 0 \
		-c:a aac -b:a 128k -ac 2 -movflags +faststart build/sample.mp4
	@mv build/sample.mp4 $@

# Tools, in the versions of tools/go.mod. Without cgo, sqlc builds in a third of
# the time.
TOOL_golangci-lint := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
TOOL_gotestsum := gotest.tools/gotestsum
TOOL_oapi-codegen := github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen
TOOL_sqlc := github.com/sqlc-dev/sqlc/cmd/sqlc

.cache/bin/%: tools/go.mod tools/go.sum
	@echo "building $* (some minutes the first time)"
	@CGO_ENABLED=0 $(GO) -C tools build -o ../$@ $(TOOL_$*)
	@touch $@

# Our own tool, a separate module: it needs another version of kin-openapi than oapi-codegen.
.cache/bin/specdiff: tools/specdiff/go.mod $(wildcard tools/specdiff/*.go)
	@CGO_ENABLED=0 $(GO) -C tools/specdiff build -o ../../$@ .
	@touch $@

# The S3 server of tests.
.cache/bin/versitygw: tools/versitygw/go.mod tools/versitygw/go.sum
	@echo "building versitygw, the S3 server of tests (some minutes the first time)"
	@CGO_ENABLED=0 $(GO) -C tools/versitygw build -o ../../$@ github.com/versity/versitygw/cmd/versitygw
	@touch $@

.cache/bin/ogen: tools/ogen/go.mod tools/ogen/go.sum
	@CGO_ENABLED=0 $(GO) -C tools/ogen build -o ../../$@ github.com/ogen-go/ogen/cmd/ogen
	@touch $@

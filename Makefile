# Shoal's build. `make` alone prints the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# What test and test-all look at: make test PKG=./fe/...
PKG ?= ./...
# How many universes of the simulation sim and test-all play: without the race detector, which has nothing to find where
# one goroutine runs at a time, and keeps memory of each.
SEEDS ?= 100000
# How long each fuzz target runs.
FUZZTIME ?= 30s
# How long chaos goes on, and the seed of its first two minutes.
MINUTES ?= 10
SEED ?= 1
# What bench loads, and how often it measures everything.
ROWS ?= 2000000
ROUNDS ?= 3

# Puts what scripts/test-deps prints into the environment of the commands that follow it.
deps = deps=$$(scripts/test-deps); set -a; eval "$$deps"; set +a

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

.PHONY: toolchain
toolchain:
	@type -P go >/dev/null || { echo 'make: go not found: install Go 1.26 or newer' >&2; exit 1; }
	@for compiler in "$$(go env CC)" "$$(go env CXX)"; do \
	  type -P "$${compiler%% *}" >/dev/null || { \
	    echo "make: $$compiler not found: DuckDB needs a C and a C++ compiler (Debian: apt-get install g++)" >&2; exit 1; }; \
	done

.PHONY: build
build: toolchain ## bin/shoal
	CGO_ENABLED=1 go build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/shoal ./cmd/shoal

.PHONY: demo
demo: build ## Shoal with an embedded broker and a running load: nothing else is needed
	bin/shoal demo

.PHONY: test
test: toolchain ## all tests, with the race detector; at most 25 minutes on 2 cores
	$(deps); go test -race -count=1 -shuffle=on -p 3 -timeout 40m $(PKG)

.PHONY: test-all
test-all: toolchain ## the same tests with more seeds, then every fuzz target; its record is kept in docs/test-all.txt
	@mkdir -p docs
	$(deps); { echo "make test-all, $(VERSION), $$(date -u +%F), $$(go version), $$(nproc) cores"; \
	  SHOAL_TEST_ALL=1 go test -race -count=1 -shuffle=on -p 3 -timeout 4h $(PKG); \
	  $(MAKE) --no-print-directory sim; \
	  $(MAKE) --no-print-directory fuzz; } 2>&1 | grep --line-buffered -v 'no test files' | tee docs/test-all.txt

.PHONY: chaos
chaos: build ## three frontends, backends and brokers that fail for MINUTES while records come; make test has two minutes of it
	$(deps); SHOAL_BINARY=$(CURDIR)/bin/shoal go test -count=1 -timeout 0 -run TestChaos -v ./integration/chaos -minutes=$(MINUTES) -seed=$(SEED)

.PHONY: sim
sim: toolchain ## SEEDS universes of the simulated cluster (100000); one that fails is made smaller, with the command that plays it
	go test -count=1 -timeout 4h -run TestSeeds -v ./integration/sim -runs=$(SEEDS)

.PHONY: bench
bench: build ## rows per second of the whole path beside its two limits, into docs/benchmarks.md; ROWS a topic, ROUNDS times
	SHOAL_BINARY=$(CURDIR)/bin/shoal go test -run '^$$' -bench . -benchtime 1x -timeout 2h \
	  ./integration/bench -rows $(ROWS) -rounds $(ROUNDS) -docs $(CURDIR)/docs/benchmarks.md

.PHONY: recovery
recovery: build ## how soon the partitions of a lost backend are served again, beside a plain share consumer; 7 minutes
	$(deps); SHOAL_BINARY=$(CURDIR)/bin/shoal go test -run '^$$' -bench . -benchtime 1x -timeout 1h ./integration/recovery

.PHONY: memory
memory: build ## what a backend takes of the machine at several --mem-limit, with large records, many tasks and queries at once
	$(deps); SHOAL_BINARY=$(CURDIR)/bin/shoal go test -run '^$$' -bench . -benchtime 1x -timeout 1h ./integration/memory

.PHONY: fuzz
fuzz: toolchain ## each fuzz target for FUZZTIME (30s)
	@grep -rHoE '^func Fuzz\w+' --include='*_test.go' . | while IFS=: read -r file target; do \
	  echo "$${target#func } in $$(dirname "$$file")"; \
	  go test -run '^$$' -fuzz "^$${target#func }$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")" </dev/null; \
	done

.PHONY: lint
lint: toolchain ## go vet, staticcheck, gofmt, buf lint, whether generated code is fresh, and whether protos read what older releases wrote
	go vet ./...
	go tool staticcheck ./...
	@unformatted=$$(gofmt -l .); [[ -z $$unformatted ]] || { echo "make: not as gofmt has it: $$unformatted" >&2; exit 1; }
	go tool buf lint
	@for release in fe/state/testdata/v*; do go tool buf breaking --against "$$release/protos.binpb" || { \
	  echo "make: protos cannot read what $${release##*/} wrote" >&2; exit 1; }; done
	@fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; go tool buf generate -o "$$fresh"; \
	  diff -r --exclude='*.proto' "$$fresh/proto" proto >&2 || { echo 'make: generated code is stale: make proto' >&2; exit 1; }

.PHONY: proto
proto: toolchain ## generate the Go code of proto/
	go tool buf generate

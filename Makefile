# pasar. `make` alone lists the targets.

PREFIX    ?= $(HOME)/.local
DESTDIR   ?=
FUZZTIME  ?= 20s
FOR       ?= 0
BENCH     ?=
DEATHS    ?=
CASES     ?= ../shared/cases/deaths-dev.jsonl
GO        ?= go
BASH      := $(shell command -v bash)

VERSION   ?= 0.1.0-dev$(addprefix +,$(shell git rev-parse --short HEAD 2>/dev/null))
LDFLAGS   := -s -w -X pasar.Version=$(VERSION)
COMMANDS  := pasar pasard pasar-supervisor pasar-console

# pasard asks NVIDIA's library through cgo. Functions of it that a driver lacks are found when they are called, not
# when pasard starts: hence lazy, which some compilers' defaults are not. The others stay static.
CC        ?= cc
export CGO_CFLAGS ?= -O2 -g -Wno-deprecated-declarations
ifeq ($(shell [ "$${CGO_ENABLED:-1}" = 1 ] && command -v $(CC)),)
PASARD_ENV := CGO_ENABLED=0
else
PASARD_ENV := CGO_ENABLED=1
PASARD_LD  := -extldflags=-Wl,-z,lazy
endif

.DEFAULT_GOAL := help
.PHONY: help build install demo test test-systemd pictures deaths lint fuzz bench torture clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "Settings: PREFIX=$(PREFIX)  FUZZTIME=$(FUZZTIME) for each fuzz target  FOR=seconds of torture"

build: ## build bin/pasar, bin/pasard, bin/pasar-supervisor and bin/pasar-console; pasard can ask NVIDIA's library if there is a C compiler
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ $(addprefix ./cmd/,$(filter-out pasard,$(COMMANDS)))
	$(PASARD_ENV) $(GO) build -trimpath -tags osusergo,netgo -ldflags '$(LDFLAGS) $(PASARD_LD)' -o bin/ ./cmd/pasard

install: build ## install into PREFIX (bin/pasar, bin/pasard; pasar-supervisor and pasar-console in libexec/pasar)
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/libexec/pasar'
	install -m 755 bin/pasar bin/pasard '$(DESTDIR)$(PREFIX)/bin'
	install -m 755 bin/pasar-supervisor bin/pasar-console '$(DESTDIR)$(PREFIX)/libexec/pasar'
	@case ":$$PATH:" in *':$(PREFIX)/bin:'*) echo 'Installed. Try: pasar status' ;; \
	*) echo 'Installed. Put $(PREFIX)/bin on your PATH, then try: pasar status' ;; esac

demo: ## train the example as a job on a throw-away daemon, watch it, and leave nothing running
	@$(BASH) examples/demo.sh

test: lint ## all tests, with the race detector, after lint
	$(GO) test -race -timeout 20m ./...
	$(GO) test -run PlainBackfilling ./cmd/pasar
	$(GO) test -run 'Labelled|Needed' ./autopsy

test-systemd: ## a machine with systemd, booted for it: setup, reboots, logouts, kills (JOBS=2000 for more; skipped without SYSTEMD_HOST)
	@GO='$(GO)' $(BASH) test/systemd/run.sh

pictures: ## take the pictures of docs/guide/web.md anew (Chromium, and ../shared for simulated GPUs)
	@mkdir -p docs/guide/pictures
	PASAR_PICTURES=docs/guide/pictures $(GO) test -count 1 -run ThePicturesOfTheGuide ./cmd/pasard

deaths: ## score the verdicts on labelled deaths (CASES=FILE, JSON lines; DEATHS=-v prints what is wrong)
	@$(GO) run ./test/deaths $(DEATHS) $(CASES)

lint: ## gofmt, vet and staticcheck
	@bad=$$(gofmt -l .) && if [ -n "$$bad" ]; then echo "not formatted (gofmt -w):" $$bad; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# Go's fuzzer may report the end of its time as a failure (golang/go#75804): then nothing was found.
fuzz: ## run each fuzz target for FUZZTIME
	@grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed 's/:func / /' | sort | while read -r file name; do \
		dir=$$(dirname $$file); \
		if out=$$($(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$dir" 2>&1); then \
			echo "ok    $$dir $$name $$(echo "$$out" | grep -o "execs: [0-9]*" | tail -1)"; \
		elif echo "$$out" | grep -q 'context deadline exceeded' && ! echo "$$out" | grep -q 'Failing input'; then \
			echo "ok    $$dir $$name, cut short by its time"; \
		else \
			echo "FAIL  $$dir $$name"; echo "$$out"; exit 1; \
		fi; \
	done

bench: ## measure pasar beside its floors and peers: a report, not a test (BENCH="-quick" and other flags of ./bench)
	$(GO) run -ldflags '$(LDFLAGS)' ./bench $(BENCH)

torture: ## random faults at full size from a printed seed (PASAR_SEED=N repeats one; FOR=600 goes on for 600 s)
	@set -e; end=$$(($$(date +%s) + $(FOR))); while :; do \
		PASAR_TORTURE=1 $(GO) test -count 1 -timeout 0 -v ./cmd/... ./attemptdir/... ./supervisor/... ./store/... ./daemon/... ./local/... ./vt/...; \
		[ $$(date +%s) -lt $$end ] || break; \
	done

clean: ## remove what was built
	rm -rf bin

# SPDX-License-Identifier: Apache-2.0
# The commands of the project. Meson builds; this sees that what it needs is there, and names what one does often.
#
#   make            build            make test      every test           make install   PREFIX=/usr/local DESTDIR=
#   make demo       see it at work   make bench     cost, side by side   make deb       packages in out/
#   make static     one static file  make fuzz      fuzz the parsers     make soak      hours of random work
#   make sanitize   the tests, with the compiler watching memory, undefined behaviour and threads
#   make nightly    sanitizers, repetitions and an attack from a seed: SEED=7 SCALE=0.1 MINUTES=30 PARTS="sql names"

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
export BUILD

# Two jobs at least; on small machines linking is what takes memory
JOBS ?= $(shell nproc)
SETUP = meson setup -Dprefix=$(PREFIX) $(MESON_OPTIONS)
NINJA = ninja -C $(BUILD) -j $(JOBS) $(if $(V),-v,--quiet)

all: build

# A prefix that changes is taken over by a tree that exists.
$(BUILD)/build.ninja:
	@tools/packages build
	@said=$$($(SETUP) $(BUILD) 2>&1) || { printf '%s\n' "$$said" | tail -n 20 >&2; rm -f $(BUILD)/build.ninja; exit 1; }

# Fetching packages and pages waits for the network and the disk, so it runs beside the compiler; a second run embeds the pages.
build: $(BUILD)/build.ninja
	@tools/packages build
	@if [ -z "$(FETCH)" ] && tools/pages --check; then $(NINJA); else \
		$(NINJA) & built=$$!; \
		$(FETCH) tools/pages --optional; fetched=$$?; wait $$built && [ $$fetched = 0 ] && $(NINJA); \
	fi

# DuckDB's library for `weir sql`, at the version that tools/duckdb pins.
engine: build
	@tools/duckdb/ready --optional out/lib

# The pages of `weir serve`, built from web/ into out/pages.
pages:
	@tools/pages

demo: FETCH = tools/packages demo &&
demo: build engine
	@demo/demo $(BUILD)/src/cli/weir

test: FETCH = tools/packages test && tools/deploy-tools --optional &&
test: build engine
	@tools/run-tests $(BUILD)

quick: build
	@meson test -C $(BUILD) --suite quick --print-errorlogs

bench: build engine
	@tools/packages bench
	@bench/run $(BUILD)

fuzz:
	@tools/packages build fuzz
	@tools/fuzz

sanitize: build engine
	@tools/packages build test
	@JOBS=$(JOBS) tools/sanitize

soak: build engine
	@tools/packages test
	@tools/soak $(BUILD)

nightly: build engine
	@tools/packages build engine pages test fuzz deb static
	@tools/nightly $(BUILD) $(if $(SEED),--seed $(SEED)) $(if $(SCALE),--scale $(SCALE)) $(if $(MINUTES),--minutes $(MINUTES)) $(PARTS)

install: build engine
	@meson configure -Dprefix=$(PREFIX) $(BUILD)
	@ninja -C $(BUILD) -j $(JOBS) --quiet
	meson install -C $(BUILD) --no-rebuild --quiet $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))
	@[ ! -e out/lib/libduckdb.so ] || install -D -m 644 -t "$(DESTDIR)$(PREFIX)/lib/weir" out/lib/libduckdb.so out/lib/LICENSE.duckdb

deb:
	@tools/packages build engine deb
	@tools/pages
	@tools/deb

static:
	@tools/packages build static
	@tools/static

docs: build
	$(BUILD)/src/cli/weir help --markdown >docs/commands.md
	$(BUILD)/src/cli/weir diagnose --explain markdown >docs/rules.md

format:
	@clang-format-16 -i $$(git ls-files '*.c' '*.h')

clean:
	rm -rf $(BUILD) build-static build-deb build-fuzz build-asan build-tsan out

.PHONY: all build engine pages demo test quick bench fuzz sanitize soak nightly install deb static docs format clean

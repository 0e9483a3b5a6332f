# Every command a contributor needs. `make` alone lists them.
# The set-up (compiler, toolchain) is done by scripts/setup, which every target runs first.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help install deb demo test quick conformance faults soak mutants test-python test-extras wheel venv packages deny semver book dist lint fmt bench bench-compare fuzz doc stamp clean setup

# rustup installs here; the shell that calls make may not know yet.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)

CARGO ?= cargo
# A machine that builds once has no use for what makes the next build faster: a minute less, and five gigabytes. With two
# processors, it also gains nothing from crates in parts (Cargo.toml says what parts cost). Panics say their line without
# debug information, too; backtraces have only names then.
ifdef CI
export CARGO_INCREMENTAL ?= 0
export CARGO_PROFILE_DEV_CODEGEN_UNITS ?= 1
export CARGO_PROFILE_DEV_DEBUG ?= none
# Read by jemalloc's build alone: without debug information (40 MB) and with little optimisation, it takes half as long.
# Only for tests: what is released is optimised.
test: export EXTRA_CFLAGS := -g0 -O1
endif
# Where `make install` puts the program.
PREFIX ?= /usr/local
# For bench-compare: ARGS="--scale 10M", ARGS=--full, ARGS=--ycsb, ARGS=--json. RocksDB is C++ and takes long to build;
# `make bench-compare RIVALS=` leaves it and SQLite out and compares with fjall alone, and ROCKSDB_LIB_DIR=FOLDER links
# the librocksdb.so 11.x of that folder instead (rocksdbjni's shared library has the C interface too).
RIVALS ?= rocksdb,sqlite
# Crates that are never published.
PRIVATE := bench-compare python testkit tidy
# The crates as registries would get them; compiles nothing.
PACKAGE := $(CARGO) package --quiet --workspace $(PRIVATE:%=--exclude ostrakon-%) --no-verify --allow-dirty --offline
# For faults: how many times as many rounds as in `make test`.
FAULTS ?= 20
# For soak: how long it plays.
MINUTES ?= 60
# Lints what is compiled for the tests, and the pages of its documentation, instead of checking all libraries for it first.
LINTED := RUSTC_WORKSPACE_WRAPPER="$(CURDIR)/scripts/lint/rustc" RUSTDOC="$(CURDIR)/scripts/lint/rustdoc"

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## check the tools; install what is missing, or say how
	@scripts/setup

demo: ## build, then in four minutes: labels, ingest, kill -9, verify, events, and a report with plots
	@scripts/setup demo
	@scripts/demo

test: ## everything a change must pass: format, lints, tests (a real Accumulo too), benchmarks run tiny, documentation, Python
	@scripts/setup test
	$(CARGO) fmt --check
	$(LINTED) CARGO="$(CARGO)" $(or $(PYTHON),python3) scripts/tests 60 \
		"$(CARGO) test --doc" \
		"scripts/setup python && scripts/python test" \
		"$(CARGO) test --bench '*'" \
		"$(CARGO) clippy -p ostrakon --no-default-features -- -D warnings" \
		"$(CARGO) tree --quiet --locked --manifest-path fuzz/Cargo.toml --depth 0" \
		"$(PACKAGE)"

quick: ## for daily work, in two minutes after a change: format, lints, unit tests of the libraries, the repository's rules
	@scripts/setup
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets -- -D warnings
	$(CARGO) test --lib --bins
	$(CARGO) test -p ostrakon-tidy

conformance: ## random scripts on a real Accumulo and here, answers compared (ARGS="--runs 1000"; ARGS=--help)
	@scripts/setup java
	$(CARGO) run -q -p ostrakon-testkit --example conformance -- $(ARGS)

faults: ## damaged files, failing disks and system calls, power loss and kills, in full (FAULTS=20: times as many as in `make test`)
	@scripts/setup faults
	OSTRAKON_FAULTS=$(FAULTS) $(CARGO) test -p ostrakon-testkit --test all -- faults:: crash_loop:: torn:: corruption:: io_errors::
	OSTRAKON_FAULTS=$(FAULTS) $(CARGO) test -p ostrakon-cli --test cli -- kills:: system_calls::

soak: ## random tests with ever new seeds until one fails or the time is over, and kills of writers (MINUTES=60)
	@scripts/setup
	@scripts/soak $(MINUTES)

mutants: ## puts repaired faults back one at a time and expects tests to fail (ARGS="a1 b4-cut": those alone); takes hours
	@scripts/setup
	@scripts/mutants $(ARGS)

test-python: ## the Python part of `make test`: wheel, types, examples, tests (ARGS="-k put")
	@scripts/setup python
	@scripts/python test $(ARGS)

test-extras: ## each extra of the Python package alone, and none; downloads a lot (ARGS="pandas none")
	@scripts/setup python
	@scripts/python extras $(ARGS)

wheel: ## build the Python wheel into target/wheels/
	@scripts/setup python
	@scripts/python wheel

venv: ## an environment .venv with the wheel and its extras (FAST=1: a quick build, without the program, SQL, events and schemas)
	@scripts/setup python
	@FAST="$(FAST)" scripts/python venv

packages: ## the crates as registries would get them, in target/package/; compiles nothing, needs no network
	$(PACKAGE)

deny: ## licences, advisories and sources of all dependencies (needs cargo-deny, and the network)
	@command -v cargo-deny >/dev/null || { echo "cargo install --locked cargo-deny"; exit 1; }
	$(CARGO) deny --all-features check

semver: ## changes of the libraries' public API since a commit that break programs (BASE=v0.1.0; needs cargo-semver-checks)
	@command -v cargo-semver-checks >/dev/null || { echo "cargo install --locked cargo-semver-checks"; exit 1; }
	@test -n "$(BASE)" || { echo "semver: name the commit to compare with, as in make semver BASE=v0.1.0"; exit 2; }
	$(CARGO) semver-checks --workspace $(PRIVATE:%=--exclude ostrakon-%) --baseline-rev "$(BASE)"

book: ## the guide as a book, in target/book/ (needs mdbook)
	@command -v mdbook >/dev/null || { echo "cargo install --locked mdbook"; exit 1; }
	@scripts/book

install: ## the program, without debug information, in PREFIX/bin (PREFIX=/usr/local), with manual pages and completions
	@scripts/setup
	$(CARGO) build --locked --release --bin ostrakon
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/share/bash-completion/completions"
	strip -o "$(DESTDIR)$(PREFIX)/bin/ostrakon" target/release/ostrakon
	target/release/ostrakon man "$(DESTDIR)$(PREFIX)/share/man/man1"
	target/release/ostrakon completions bash >"$(DESTDIR)$(PREFIX)/share/bash-completion/completions/ostrakon"

deb: ## a Debian package of the program in target/dist/ (needs dpkg-deb)
	@scripts/setup
	@scripts/deb

dist: ## what a release has, in target/dist/: the program without debug information, and the wheel
	@scripts/setup python
	@scripts/dist

lint: ## only the quick part of `make test`: format, lints, the repository's rules
	@scripts/setup
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets -- -D warnings
	$(CARGO) test -p ostrakon-tidy

fmt: ## format the sources
	$(CARGO) fmt

doc: ## build the reference pages (target/doc/ostrakon/index.html)
	@scripts/setup
	$(CARGO) doc --no-deps

stamp: ## write the hashes of the format modules into docs/format, after both were read again
	$(CARGO) run -q -p ostrakon-tidy -- stamp

bench: ## our own benchmarks, full length
	@scripts/setup
	$(CARGO) bench --bench '*'

bench-compare: ## Ostrakon and its rivals in one run, ratios of medians (ARGS=--help; D4M=folder: its arrays)
ifdef D4M
	@scripts/setup python
	@scripts/python venv
	.venv/bin/pip install --quiet py4j setuptools
	.venv/bin/python python/benches/assoc.py --d4m "$(D4M)" $(ARGS)
else
	@RIVALS="$(RIVALS)" scripts/setup bench-compare
	$(if $(ROCKSDB_LIB_DIR),LD_LIBRARY_PATH="$(ROCKSDB_LIB_DIR)") $(CARGO) run --release -p ostrakon-bench-compare --features "$(RIVALS)" -- $(ARGS)
	@echo "For associative arrays against D4M.py: git clone https://github.com/Accla/D4M.py, then make bench-compare D4M=D4M.py"
endif

fuzz: ## every fuzz target for a minute (FUZZ_SECONDS=60)
	@scripts/setup
	@scripts/fuzz

clean: ## remove what was built
	$(CARGO) clean

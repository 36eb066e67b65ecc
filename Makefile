# Everything runs in .venv, which any target below makes; afterwards the command is .venv/bin/flashraid.

PYTHON := .venv/bin/python
RUST_VERSION := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
PYTHON_SOURCES := python tests docs/make $(wildcard benches/*.py mutation/*.py examples/*.py profiles/*.py)
# rustfmt does not find these by itself: macros declare the modules of schemes and of GC policies.
IN_LISTS := $(wildcard crates/redundancy/src/schemes/*.rs crates/redundancy/src/schemes/*/mod.rs crates/ftl/src/space/victim/*.rs)
# What the long targets do instead with QUICK=1: all of it with little work, to see that it runs to its end. `make test` does that.
PROVE := $(if $(QUICK),,FLASHRAID_PROVE=1)
PROFILE := $(if $(QUICK),,--profile prove)
# Some tests wait for processes, so that one worker more than there are cores keeps all busy.
PYTEST := $(PYTHON) -m pytest -q -n $$(( $$($(PYTHON) -c 'import os; print(os.cpu_count())') + 1 )) --dist worksteal
# How the extension is compiled: what everybody uses is fast. CI takes what the tests are made of (AS_TESTED), which is compiled anyway.
EXTENSION := release
AS_TESTED := $(if $(filter dev,$(EXTENSION)),--features as-tested)
export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# What the extension is made of. Python files are used in place and need no build.
SOURCES := pyproject.toml Cargo.toml Cargo.lock $(shell find crates devices profiles -name '*.rs' -o -name '*.toml')

.DEFAULT_GOAL := help
.PHONY: help demo format bless test test-rust test-python prove bench mutate fuzz validate papers docs wheel sdist clean

ifneq ($(filter-out help clean,$(or $(MAKECMDGOALS),help)),)
define MISSING
need() { $$3 >/dev/null 2>&1 || { echo "$$1 is missing or too old: install $$2"; exit 0; }; }; \
at_least() { [ "$$(printf '%s\n' "$$1" "$$2" | sort -V | head -1)" = "$$1" ]; }; \
python_is_new() { python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; }; \
rust_is_new() { at_least $(RUST_VERSION) "$$(rustc --version | cut -d' ' -f2)"; }; \
need python3 "Python 3.11 or later (package python3)" python_is_new; \
need "python3's module venv" "the package python3-venv" "python3 -m ensurepip --version"; \
need "a C compiler" "cc (package gcc)" "cc --version"; \
need cargo "stable Rust $(RUST_VERSION) or later (https://rustup.rs)" "cargo --version"; \
need rustc "stable Rust $(RUST_VERSION) or later (https://rustup.rs)" rust_is_new
endef
FOUND := $(shell $(MISSING))
$(if $(FOUND),$(error $(FOUND)))
endif

help:
	@echo 'make demo      real traces under RAID layouts, compared, with reports for a browser'
	@echo 'make format    formats Rust and Python'
	@echo 'make bless     writes documents, types and golden results anew (WHAT=documents:: one of them); look at git diff'
	@echo 'make test      every test and lint'
	@echo 'make prove     the longer proofs'
	@echo 'make bench     speed and memory'
	@echo 'make mutate    SEED=n SAMPLE=30: deliberate changes of the engine, and which of them the tests notice (GOLDENS=no: others than golden ones)'
	@echo 'make fuzz      SECONDS=60 for each target: readers, settings and profiles on input that a fuzzer finds'
	@echo 'make validate  writes docs/validation.md: our figures beside published ones'
	@echo 'make papers    writes docs/papers: the claims of papers beside our figures'
	@echo 'make docs      the site of the documents, in site/'
	@echo 'make wheel     dist/*.whl: one wheel for every Python from 3.11 on'
	@echo 'make sdist     dist/*.tar.gz: the sources, of which pip makes that wheel where there is Rust'
	@echo 'make clean     removes what was built'
	@echo 'QUICK=1 behind prove, bench, validate or papers: only whether all of it runs, with little work'

DEMO_TRACES := pgbench $(if $(QUICK),,postmark sqlite)
demo: .venv/built
	@.venv/bin/flashraid compare samples/pgbench-transactions.csv.gz --device ssd1 --schemes raid0,raid1,raid4,raid5 --fill 0.4
	@mkdir -p demo
	@for name in $(DEMO_TRACES); do .venv/bin/flashraid compare samples/$$name-transactions.csv.gz --device ssd1 \
	  --schemes all --fill 0.4 --no-capacity --quiet $(if $(QUICK),--limit 1000) --report demo/$$name.html >/dev/null || exit; done
	@echo 'Reports of all schemes that ssd1 can have, for a browser: $(DEMO_TRACES:%=demo/%.html)'
	@echo 'Next: .venv/bin/flashraid run samples/pgbench-transactions.csv.gz --device ssd1 --scheme raid5 --fill 0.4 --verify'

format: .venv/testing
	cargo fmt --all -- $(IN_LISTS)
	.venv/bin/ruff format -q $(PYTHON_SOURCES)

# What is made of the code and kept in files. The drives of tests/golden/drives are not among it: they are written when their format is raised (CONTRIBUTING.md).
WHAT := config:: generated:: documents:: determinism::
bless:
	FLASHRAID_BLESS=1 cargo test -q -p flashraid-sim -p flashraid-torture --all-features --test suite -- $(WHAT)

# The release build is for the most part one job for one core, and so is the end of many a test program: both languages are tested at once.
test:
	@$(MAKE) -s -j3 .venv/browser test-rust test-python
	@$(MAKE) -s -j2 --output-sync=target demo bench validate papers QUICK=1

# No example stands in rustdoc (those of documents are tested with the package), so that nobody waits for rustdoc to look for some.
# If Clippy compiles the tests (.ci/run), it needs no pass of its own.
# Properties are tried with a quarter of the cases that they have elsewhere.
# Two programs beside each other are jobs of make's; what cargo starts are not, and rustdoc complains of a job server that it cannot reach.
test-rust:
	cargo fmt --all -- --check $(IN_LISTS)
	$(if $(RUSTC_WORKSPACE_WRAPPER),,cargo clippy -q --workspace --all-targets --all-features -- -D warnings)
	env -u MAKEFLAGS PROPTEST_CASES=64 cargo test -q --workspace --all-features --tests --examples

# A test that waits for ever says where; the longest one takes seconds.
test-python: .venv/built .venv/testing .venv/browser
	.venv/bin/ruff check -q $(PYTHON_SOURCES)
	.venv/bin/ruff format -q --check $(PYTHON_SOURCES)
	.venv/bin/mypy
	$(PYTEST) -o faulthandler_timeout=180 -o faulthandler_exit_on_timeout=true

prove: .venv/built .venv/testing .venv/docs
	RUSTDOCFLAGS='-D warnings' cargo doc -q --workspace --all-features --no-deps
	$(PROVE) cargo test -q $(PROFILE) --workspace --all-features
	$(PROVE) $(PYTEST)
	$(PYTHON) benches/run.py --instructions $(if $(QUICK),--quick)

bench: .venv/built
	$(PYTHON) benches/run.py $(if $(QUICK),--quick)
	$(PYTHON) benches/sweep.py $(if $(QUICK),--quick)

mutate: .venv/installed
	$(PYTHON) mutation/mutate.py $(or $(SEED),--survivors) $(SAMPLE) $(if $(filter no,$(GOLDENS)),--without sim/goldens)

# New inputs go to fuzz/found; what is worth keeping is moved to fuzz/corpus by hand.
fuzz:
	@cd fuzz && cargo +nightly fuzz --version >/dev/null || { echo 'make fuzz needs a nightly toolchain and cargo-fuzz (cargo install cargo-fuzz)' >&2; exit 1; }
	cd fuzz && cargo +nightly fuzz build -s none
	cd fuzz && for target in $$(cargo +nightly fuzz list); do \
	  mkdir -p found/$$target && cargo +nightly fuzz run -s none $$target found/$$target corpus/$$target -- -max_total_time=$(or $(SECONDS),60) -verbosity=0 || exit; done

validate: .venv/built
	$(PYTHON) tests/validation/validate.py $(if $(QUICK),--quick,--write)

# With -j2 two papers at a time.
PAPERS := $(addprefix paper-,$(notdir $(wildcard papers/*)))
.PHONY: $(PAPERS)
papers: $(PAPERS)
	@$(if $(QUICK),true,.venv/bin/flashraid reproduce --summary docs/papers)

$(PAPERS): paper-%: .venv/built
	@.venv/bin/flashraid reproduce $* $(if $(QUICK),--smoke,--write docs/papers)

# The documentation of the crates is a part of the site.
docs: .venv/built .venv/docs
	$(PYTHON) docs/make/generated.py
	cargo doc -q --workspace --no-deps
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build
	$(PYTHON) docs/make/check.py site
	@echo 'site/index.html'

# Zig links with an old C library (glibc 2.17 of 2012), so that the wheel runs on older systems than the one that builds it.
wheel: .venv/wheel
	@rm -f dist/*.whl
	@PATH="$(CURDIR)/.venv/bin:$$PATH" .venv/bin/maturin build -q --release --zig --compatibility manylinux2014 --out dist
	@echo dist/*.whl

sdist: .venv/installed
	@rm -f dist/*.tar.gz
	.venv/bin/maturin sdist --out dist
	@echo dist/*.tar.gz

clean:
	cargo clean -q
	rm -rf .venv dist demo site .mypy_cache .pytest_cache .ruff_cache .hypothesis python/flashraid/*.so
	find benches python tests -name __pycache__ -prune -exec rm -rf {} +

.venv/installed: pyproject.toml
	@echo 'Installing what flashraid needs into .venv ...'
	@test -x $(PYTHON) || python3 -m venv .venv
	@$(PYTHON) -m pip install 'maturin>=1.9,<2'
	@touch $@

.venv/built: .venv/installed $(SOURCES)
	@echo 'Building the engine (two minutes the first time) ...'
	@VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop -q --profile $(EXTENSION) $(AS_TESTED) --extras plot,sweep
	@touch $@

.venv/wheel: .venv/installed
	@$(PYTHON) -m pip install 'ziglang>=0.17,<0.18'
	@touch $@

# One installation into .venv at a time, should make do several things at once.
.venv/testing: | $(if $(findstring test,$(MAKECMDGOALS)),.venv/built)

.venv/testing .venv/docs: .venv/%: .venv/installed pyproject.toml
	@echo 'Installing what $* needs into .venv ...'
	@$(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["$(*:testing=test)"])' \
	  | xargs $(PYTHON) -m pip install
	@touch $@

# The tests of reports need a browser: tests/browser/README.md.
.venv/browser: .venv/installed
	@if [ -n "$$FLASHRAID_CHROMIUM" ] || command -v chromium chromium-browser google-chrome >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && [ -e /etc/debian_version ] && command -v apt-get >/dev/null; then \
	  echo 'Installing a browser for the tests of reports ...'; \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null || \
	    echo 'No browser could be installed: the tests of reports are skipped'; \
	else echo 'No browser for the tests of reports (apt-get install chromium): they are skipped'; fi
	@touch $@

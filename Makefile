# Every command of the house. `make` alone prints this list.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Where this is set, every process that a test starts would compile all of the source again.
unexport PYTHONDONTWRITEBYTECODE

# The first interpreter on the PATH that is new enough; override with `make setup PYTHON=/path/to/python`.
PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$name; break; }; done)

VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input

APPS := $(patsubst apps/%/pyproject.toml,%,$(wildcard apps/*/pyproject.toml))
APP_PACKAGES := $(foreach package,$(wildcard apps/*/src/*/__init__.py),$(notdir $(patsubst %/,%,$(dir $(package)))))
DEMOS := $(filter-out parts,$(APPS))

.PHONY: help setup demo fuzz test test-engine gate prove prove-engine simulate chaos chaos-long check fix walk bench bench-quick bench-service bench-pages bench-workers clean
.PHONY: $(addprefix test-,$(APPS)) $(addprefix prove-,$(APPS)) $(addprefix demo-,$(DEMOS))

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@printf '  make %-14s %s\n' $(foreach app,$(DEMOS),demo-$(app) 'Run the demonstration of the application $(app)')

setup: $(VENV)/.installed-dev ## Make .venv with Backstay, every application (editable) and the developer tools

demo: $(VENV)/.installed ## Run the demonstration: a few real jobs, a crash, a recovery
	@$(BIN)/python docs/examples/demo/run.py

screenshots: $(VENV)/.installed-dev ## Take the pictures of the dashboard anew, with a real browser
	@$(BIN)/python tools/take_screenshots.py

# The demonstration of an application installs that application alone.
$(addprefix demo-,$(DEMOS)): demo-%: $(VENV)/.installed-%
	@$(BIN)/backstay-$* demo $(ARGS)

# Two tests at a time. More would not help: many tests start processes and servers of their own.
# A worker that dies ends the run: a new one in its place is sometimes given nothing to do, and waits forever.
# Their order is drawn by the source, as the slices of the proofs are: what ran before a merge is what the gate runs.
PYTEST = $(BIN)/python -m pytest -q -n 2 --max-worker-restart 0 --durations=30 --durations-min=2 -m "not prove" \
	--randomly-seed $(ORDER) --hypothesis-seed $(ORDER)
ORDER = $(or $(SEED),$(shell $(BIN)/python tests/slices.py))

test: test-engine $(addprefix test-,$(APPS)) ## Run every test, without the long proofs

# Tests of a file share what it sets up.
test-engine: $(VENV)/.installed-dev ## Run the tests of the engine alone
	$(PYTEST) --dist loadfile tests

# Of one application: make test-passport
$(addprefix test-,$(APPS)): test-%: $(VENV)/.installed-dev
	$(PYTEST) --dist loadfile apps/$*/tests

gate: $(VENV)/.installed-dev ## Run every test as the gate does: all suites, and what failed once more, alone
	$(BIN)/python tools/run_gate.py --pytest '$(PYTEST)' tests $(APPS:%=apps/%/tests)

prove: prove-engine $(addprefix prove-,$(APPS)) ## Run the long proofs: thousands of worlds, every cut, every mutant

prove-engine: $(VENV)/.installed-dev ## Run the long proofs of the engine alone
	$(PYTEST) --dist worksteal -m prove tests

# An application may have no long proof yet: pytest says so by its exit code 5.
$(addprefix prove-,$(APPS)): prove-%: $(VENV)/.installed-dev
	$(PYTEST) --dist worksteal -m prove apps/$*/tests || [ $$? -eq 5 ]

# The same requests again: make fuzz SEED=7
fuzz: $(VENV)/.installed-dev ## Send 100,000 requests made from the API's own description to a real server
	BACKSTAY_FUZZ_REQUESTS=100000 BACKSTAY_FUZZ_SEED=$(or $(SEED),$$RANDOM) $(BIN)/python -m pytest -q -m prove tests/http/test_http_fuzz.py

# One run again: make simulate SEED=17. Everything that happened in it: make simulate SEED=17 ARGS=--trace
simulate: $(VENV)/.installed-dev ## Run one simulation again (SEED=17), or many (SEED=0 ARGS="--count 500")
	@PYTHONPATH=tests $(BIN)/python -m simulation --seed $(or $(SEED),0) $(ARGS)

# The seed of a run that is to be repeated: `make chaos SEED=7`. With jobs suggested by Redis: `make chaos ARGS=--redis`.
CHAOS := PYTHONPATH=tests $(BIN)/python -m chaos $(if $(SEED),--seed $(SEED))

chaos: $(VENV)/.installed-dev ## Prove under real faults that no job is lost: 20,000 jobs, 110 faults
	$(CHAOS) --report build/chaos/report.json $(ARGS)

chaos-long: $(VENV)/.installed-dev ## The same for 1,000,000 jobs and 5,500 faults; goes on where it was interrupted
	$(CHAOS) --rounds 50 --at-once 3 --resume --report build/chaos/long.json

check: $(VENV)/.installed-dev ## Lint, format, types, import directions, generated code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy $(addprefix -p ,$(APP_PACKAGES))
	$(BIN)/lint-imports
	$(BIN)/python tools/generate_sync.py --check
	$(BIN)/python tools/write_working_sql.py --check
	$(BIN)/python tools/draw_states.py --check
	$(BIN)/python tools/copy_examples.py --check
	$(BIN)/python tools/write_reference.py --check
	$(BIN)/python tools/write_performance.py --check
	$(BIN)/python tools/write_mended.py --check
	$(BIN)/python tools/write_capabilities.py --check
	$(BIN)/python tools/write_service_points.py --check

fix: $(VENV)/.installed-dev ## Repair what a tool can: lint, format, generated code and pages
	$(BIN)/python tools/generate_sync.py
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python tools/write_working_sql.py
	$(BIN)/python tools/write_schema.py
	$(BIN)/python tools/draw_states.py
	$(BIN)/python tools/copy_examples.py
	$(BIN)/python tools/write_reference.py
	$(BIN)/python tools/write_performance.py
	$(BIN)/python tools/write_mended.py
	$(BIN)/python tools/write_capabilities.py
	$(BIN)/python tools/write_service_points.py

walk: $(VENV)/.installed-dev ## Trace the way of one job through the files, and write its page
	@$(BIN)/python tools/trace_walk.py

bench-quick: $(VENV)/.installed-dev ## Run the short benchmark: us and the bare loop, in two minutes
	$(BIN)/python -m bench.quick

# With fewer jobs, or more rounds: make bench-service ARGS="--jobs 1000 --rounds 9"
bench-service: $(VENV)/.installed-dev ## Measure POST /jobs, live events, and what a listener and row security cost
	$(BIN)/python -m bench.service $(ARGS)

# A part of it, elsewhere than in the report: make bench ARGS="--only w3 --peers pgqueuer --rounds 5 --out build/part.json"
bench: $(VENV)/.installed-dev ## Run the whole benchmark with all peers, and write its report and page (55 min)
	$(BIN)/python -m bench $(ARGS)
	$(BIN)/python tools/write_performance.py

# With fewer jobs, or more rounds: make bench-pages ARGS="10000 50"
bench-pages: $(VENV)/.installed-dev ## Measure every page of the dashboard with 1,000,000 jobs, and profile the slowest two
	$(BIN)/python -m bench.dashboard_pages $(ARGS)

# Fewer: make bench-workers ARGS="--workers 1,4 --rounds 1"
bench-workers: $(VENV)/.installed-dev ## Measure up to 64 workers in network namespaces, with and without Redis (needs root)
	$(BIN)/python -m bench.many_workers $(ARGS)

clean: ## Remove .venv, caches and build products
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find src tests docs bench tools apps -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The stamps are older than pyproject.toml exactly when its dependencies may have changed.
$(VENV)/.installed: pyproject.toml | $(BIN)/pip
	$(PIP_INSTALL) --editable ".[http]"
	@touch $@

# The engine and the parts are named again without extras, so that the applications find them here and nowhere else.
$(VENV)/.installed-dev: pyproject.toml $(wildcard apps/*/pyproject.toml) | $(BIN)/pip
	$(PIP_INSTALL) --editable '.[dev]' --editable 'apps/parts[dev]'
	$(PIP_INSTALL) --editable . --editable apps/parts $(foreach app,$(DEMOS),--editable 'apps/$(app)[dev]')
	@touch $@ $(VENV)/.installed $(addprefix $(VENV)/.installed-,$(DEMOS))

$(addprefix $(VENV)/.installed-,$(DEMOS)): $(VENV)/.installed-%: pyproject.toml apps/parts/pyproject.toml apps/%/pyproject.toml | $(BIN)/pip
	$(PIP_INSTALL) --editable . --editable apps/parts --editable 'apps/$*[demo]'
	@touch $@

# Debian ships Python without ensurepip, so that `python3 -m venv` fails until python3-venv is installed.
$(BIN)/pip:
	@python="$(PYTHON)"; \
	if [ -n "$$python" ] && "$$python" -m venv $(VENV) >/dev/null 2>&1; then exit 0; fi; \
	rm -rf $(VENV); \
	if [ "$$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then \
		echo "Cannot make a virtual environment: it takes Python 3.11 or newer with the venv module." >&2; \
		echo "On Debian or Ubuntu run 'sudo apt-get install python3-venv'; elsewhere pass PYTHON=/path/to/python." >&2; \
		exit 1; \
	fi; \
	echo "Installing python3-venv, which $${python:-python3} needs to make a virtual environment."; \
	apt-get update -qq; \
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv >/dev/null; \
	"$${python:-python3}" -m venv $(VENV) || /usr/bin/python3 -m venv $(VENV)

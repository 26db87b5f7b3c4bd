# Every command of the house. `make` alone prints this list.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The first interpreter on the PATH that is new enough; override with `make setup PYTHON=/path/to/python`.
PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$name; break; }; done)

VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input

.PHONY: help setup demo test test-slow simulate chaos chaos-long check fix bench bench-quick clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(VENV)/.installed-dev ## Make .venv with Windlass (editable) and the developer tools

demo: $(VENV)/.installed ## Run the demonstration: a few real jobs, a crash, a recovery
	@$(BIN)/python docs/examples/demo/run.py

# Two tests at a time. More would not help: many tests start processes and servers of their own.
PYTEST := $(BIN)/python -m pytest -q -n 2

# Short tests of a file share what it sets up; the slow ones are few and long, and each goes where there is room.
test: $(VENV)/.installed-dev ## Run the tests, without the slow ones
	$(PYTEST) --dist loadfile -m "not slow"

test-slow: $(VENV)/.installed-dev ## Run only the slow tests
	$(PYTEST) --dist worksteal -m slow

# One run again: make simulate SEED=17. Everything that happened in it: make simulate SEED=17 ARGS=--trace
simulate: $(VENV)/.installed-dev ## Run one simulation again (SEED=17), or many (SEED=0 ARGS="--count 500")
	@PYTHONPATH=tests $(BIN)/python -m simulation --seed $(or $(SEED),0) $(ARGS)

# The seed of a run that is to be repeated: `make chaos SEED=7`.
CHAOS := PYTHONPATH=tests $(BIN)/python -m chaos $(if $(SEED),--seed $(SEED))

chaos: $(VENV)/.installed-dev ## Prove under real faults that no job is lost: 20,000 jobs, 110 faults
	$(CHAOS) --report build/chaos/report.json

chaos-long: $(VENV)/.installed-dev ## The same for 1,000,000 jobs and 5,500 faults; goes on where it was interrupted
	$(CHAOS) --rounds 50 --at-once 3 --resume --report build/chaos/long.json

check: $(VENV)/.installed-dev ## Lint, format, types, import directions, generated code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/generate_sync.py --check
	$(BIN)/python tools/draw_states.py --check
	$(BIN)/python tools/copy_examples.py --check
	$(BIN)/python tools/write_reference.py --check
	$(BIN)/python tools/write_performance.py --check

fix: $(VENV)/.installed-dev ## Repair what a tool can: lint, format, generated code and pages
	$(BIN)/python tools/generate_sync.py
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python tools/write_schema.py
	$(BIN)/python tools/draw_states.py
	$(BIN)/python tools/copy_examples.py
	$(BIN)/python tools/write_reference.py
	$(BIN)/python tools/write_performance.py

bench-quick: $(VENV)/.installed-dev ## Run the short benchmark: us and the bare loop, in two minutes
	$(BIN)/python -m bench.quick

# A part of it, elsewhere than in the report: make bench ARGS="--only w3 --peers pgqueuer --rounds 5 --out build/part.json"
bench: $(VENV)/.installed-dev ## Run the whole benchmark with all peers, and write its report and page (55 min)
	$(BIN)/python -m bench $(ARGS)
	$(BIN)/python tools/write_performance.py

clean: ## Remove .venv, caches and build products
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find src tests docs bench tools -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The stamps are older than pyproject.toml exactly when its dependencies may have changed.
$(VENV)/.installed: pyproject.toml | $(BIN)/pip
	$(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/pip
	$(PIP_INSTALL) --editable '.[dev]'
	@touch $@ $(VENV)/.installed

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

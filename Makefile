# Two commands set everything up: `make explore` (a first campaign) and `make test` (every check).
# Both need only Python 3.11 or newer, make and gcc.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
BUDGET ?= 500
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help explore test check lint types rooms unit slow gpu notebooks clean

help: ## say what each target does
	@awk -F':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

explore: $(VENV)/.installed ## install, then run a campaign of $(BUDGET) trials (set BUDGET=N)
	$(BIN)/bisect explore --budget $(BUDGET)

test: check ## install, then run every check and test that needs no GPU

check: lint types rooms unit

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

rooms: $(VENV)/.installed-dev
	$(BIN)/lint-imports --no-logo --no-cache

unit: $(VENV)/.installed-dev
	$(BIN)/python -m pytest

slow: $(VENV)/.installed-slow ## statistics over many seeds, soaks, real servers and browsers: minutes
	$(BIN)/python -m pytest -m slow

gpu: $(VENV)/.installed-dev ## the tests that need an NVIDIA GPU
	$(BIN)/python -m pytest -m gpu

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "bisect needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade -c constraints.txt pip

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -c constraints.txt --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) install -c constraints.txt --editable '.[postgres,parquet,service,notebooks]' --group dev
	@touch $@

# Ray has no wheel for every Python; where it has none, its tests are skipped.
$(VENV)/.installed-slow: $(VENV)/.installed-dev
	$(PIP) install -c constraints.txt --editable '.[ray]' || echo "make slow: without Ray; its tests are skipped"
	@touch $@

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

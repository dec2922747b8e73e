# Needed: git, make, Python 3.11 or later. Everything else comes into $(VENV) from requirements.lock.
VENV ?= .venv
PYTHON ?= $(or $(call recent,python3),$(call recent,python3.13),$(call recent,python3.12),$(call recent,python3.11),python3)
ARGS ?=

# Hashed, for every platform, and without a line that names where packages come from.
PIN = uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-emit-index-url --no-header pyproject.toml

recent = $(shell $(1) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(1))
python := $(VENV)/bin/python

.PHONY: help demo demo-check test test-long test-chaos adoption matrix lint types wheel lock set-up
.DEFAULT_GOAL := help

help: ## List what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: set-up ## Run Ledgerline on real parts until Ctrl-C (ARGS="--port 8080")
	@$(python) manage.py demo $(ARGS)

demo-check: set-up ## Check the running demo: fifty callers, a busy minute, a lost answer, a case
	@$(python) manage.py demo_check $(ARGS)

test: set-up ## Run the tests on real servers (ARGS="-k behaviour -x")
	@$(python) -m pytest $(ARGS)

test-long: set-up ## Run the tests that start, freeze and kill servers for minutes
	@$(python) -m pytest -m long $(ARGS)

test-chaos: set-up ## Kill, freeze and starve crews of real processes, for many minutes
	@$(python) -m pytest -m chaos $(ARGS)

adoption: set-up ## Install the wheel into somebody else's projects, and audit other libraries' endpoints
	@$(python) -m pytest tests/adoption tests/audit $(ARGS)

matrix: set-up ## Run adopted projects on other Pythons, Djangos and PostgreSQL 15, where they are here
	@$(python) -m pytest -m matrix tests/adoption $(ARGS)

lint: set-up ## Check style, formatting, who imports whom, and that no migration is missing
	@$(python) -m ruff check .
	@$(python) -m ruff format --check .
	@$(python) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'
	@$(python) -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run # needs no database

types: set-up ## Check the types, strictly
	@$(python) -m mypy ledgerline idempotency fulfilment

wheel: set-up ## Build the wheel into dist/
	@$(python) -m pip wheel --quiet --no-deps --wheel-dir dist .

lock: ## Pin anew what pyproject.toml asks for (needs uv, any recent version)
	@$(PIN) --extra service --extra embedded --group dev --output-file requirements.lock
	@$(PIN) --extra service --output-file ledgerline/deploy/requirements.lock

set-up:
	@command -v $(PYTHON) >/dev/null || { echo 'Python 3.11 or later is needed and not found. Install it, or name it: make PYTHON=/path/to/python3' >&2; exit 2; }
	@$(PYTHON) ledgerline/demo/install.py $(VENV)

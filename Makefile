# Regard: `make demo` and `make test` do all of their own set-up in .venv.

PYTHON ?= python3
BIN := .venv/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export HF_HUB_OFFLINE := 1

.PHONY: demo test lint types layers pytest bench clean

demo: .venv/installed
	$(BIN)/regard demo

test: lint types layers pytest

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed-dev
	$(BIN)/mypy

layers: .venv/installed-dev
	$(BIN)/lint-imports

pytest: .venv/installed-dev
	$(BIN)/pytest --numprocesses 2 --dist worksteal

bench: .venv/installed-dev
	@set -e; for benchmark in benchmarks/*.py; do echo "== $$benchmark"; $(BIN)/python $$benchmark; done

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/python -m pip install --quiet --editable '.[dev,documents,exchange,fast,onnx,ray,serve]'
	touch $@

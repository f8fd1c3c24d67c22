# `make demo` and `make test` set up everything they need in .venv; a second run installs nothing.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV := $(VENV)/.dev
TORCH := $(VENV)/.torch
INSTALL := PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test check docs dist bench slow coverage clean
.DELETE_ON_ERROR:

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "pacopt needs Python 3.11 or newer: make PYTHON=/path/to/python")'
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) --editable .
	touch $@

$(DEV): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) --editable '.[dev,docs,papers]'
	touch $(READY) $@

# Half a gigabyte that only the tests of exports need: not in CI, and not in .[dev].
$(TORCH): pyproject.toml constraints.txt $(DEV)
	$(INSTALL) --editable '.[dev,docs,papers,torch]'
	touch $(READY) $(DEV) $@

demo: $(READY)
	$(BIN)/pacopt demo

test: $(DEV)
	$(BIN)/python -m pytest -n 2

check: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(DEV)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Wheel and sdist, the wheel made from the sdist, with metadata that an index would take.
dist: $(DEV)
	rm -rf dist
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

bench: $(DEV)
	$(BIN)/python -m benchmarks.loss_table
	$(BIN)/python -m benchmarks.learning
	$(BIN)/python -m benchmarks.stochastic
	$(BIN)/python -m benchmarks.workers
	$(BIN)/python -m benchmarks.study
	$(BIN)/python -m benchmarks.export

# What is too long for every commit, to be run before an issue is called resolved: more than an hour on two cores.
# Every test is named as it ends, so that a run that is cut off has told what failed.
slow: $(TORCH)
	ANNOTATIONS=1 XLA_LEVEL=3 $(BIN)/python -m pytest -n 2 -vv -m 'slow or not slow'
	$(BIN)/python tests/faults/interruptions.py 300
	$(MAKE) coverage

# How often statements are false, with enough repetitions to notice twice what they promise.
coverage: $(DEV)
	PYTHONPATH=tests $(BIN)/python -m simulation.simulate

clean:
	rm -rf $(VENV) site dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

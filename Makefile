# `make demo`, `make test` and `make docs` make their own virtual environment in .venv first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TESTS ?=
# Large, and only for the tests of PyTorch tensors, which are skipped without it.
TORCH ?= torch==2.13.0
# Interpreters of `make test-pythons`, by their names or paths.
PYTHONS ?= python3.11 python3.12 python3.13
# Where an image sets it, every worker would compile all modules and tests again: 5 seconds.
unexport PYTHONDONTWRITEBYTECODE
# Processes among which pytest shares out the tests; 0 runs them all in one, as a debugger needs it.
WORKERS ?= 2

PIP := python -m pip install --quiet --disable-pip-version-check
PYTEST := pytest -n $(WORKERS) --dist worksteal
QUICK := -m 'not slow and not cluster'

.PHONY: demo test test-quick test-chaos test-lowest test-pythons lint benchmark docs clean

demo: $(VENV)/.installed
	$(BIN)/vanishing demo

test: $(VENV)/.installed-test lint
	$(BIN)/$(PYTEST) $(TESTS)

# Without the tests that take more than a moment, or start a cluster.
test-quick: $(VENV)/.installed-test
	$(BIN)/$(PYTEST) $(QUICK) $(TESTS)

# Only the tests with kills, forks, full disks and files that change under way.
test-chaos: $(VENV)/.installed-test
	$(BIN)/$(PYTEST) -m chaos $(TESTS)

# With the lowest versions that pyproject.toml allows, which have wheels for the lowest Python only.
test-lowest: .venv-lowest/.installed-test
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-lowest/numba .venv-lowest/bin/$(PYTEST) $(QUICK) $(TESTS)

# With the newest versions, on every Python.
test-pythons:
	set -e; for python in $(PYTHONS); do \
	  version=$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	  $(MAKE) test-quick PYTHON=$$python VENV=.venv-$$version TORCH=; \
	done

lint: $(VENV)/.installed-test
	$(BIN)/ruff check src tests benchmarks examples tools
	$(BIN)/ruff format --check src tests benchmarks examples tools
	$(BIN)/mypy
	$(BIN)/codespell

benchmark: $(VENV)/.installed
	$(BIN)/python benchmarks/speed.py

# The site, in docs/_build/html: warnings are errors, links are checked, nothing needs the network. The one example of
# PyTorch is left out where that is not installed.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	$(BIN)/python tools/website/check.py docs/_build/html

clean:
	find src tests tools -name __pycache__ -exec rm -rf {} +
	rm -rf docs/_build docs/made docs/reference docs/gallery
	rm -rf .venv .venv-* .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("vanishing needs Python 3.11 or newer; set PYTHON=/path/to/python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/$(PIP) --editable .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/$(PIP) --editable '.[test]'
	$(if $(TORCH),-$(BIN)/$(PIP) '$(TORCH)')
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/$(PIP) --editable '.[docs]'
	touch $@

.venv-lowest/.installed-test: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("The lowest versions need Python 3.11; set PYTHON=/path/to/python3.11") if sys.version_info[:2] != (3, 11) else None'
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/$(PIP) uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct --editable '.[test]'
	touch $@

# Two commands: `make demo` and `make test`. Both make their own virtual environment in .venv first.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint benchmark clean

demo: .venv/.installed
	$(BIN)/vanishing demo

test: .venv/.installed-test lint
	$(BIN)/pytest

lint: .venv/.installed-test
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/codespell

benchmark: .venv/.installed
	$(BIN)/python benchmarks/speed.py

clean:
	find src -name __pycache__ -exec rm -rf {} +
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("vanishing needs Python 3.11 or newer; set PYTHON=/path/to/python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/.installed-test: .venv/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	# Large, and only for the tests of PyTorch tensors, which are skipped without it.
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check 'torch==2.13.0'
	touch $@

# make demo    sets up everything and reproduces Figure 2(c)
# make test    sets up everything and runs the whole test suite
# make quick   the checks, and the tests of kernels, models, policies, agents and simulations
# make check   format, lint, types, layers, spelling
# make docs    the documentation site, in build/site; warnings are errors
# make reference  rewrites the reference of commands and of the HTTP interface
# make bench   speed, as ratios against yardsticks
# make nightly the long tests
# make numba-range  the policies' tests on the oldest and newest numba, and without its private parts

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test quick check docs reference bench nightly numba-range clean
.DEFAULT_GOAL := test

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "greedyfirst needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

demo: $(READY)
	$(BIN)/greedyfirst figure fig2c --force

test: $(READY)
	$(BIN)/python -m pytest -n 2

quick: check
	$(BIN)/python -m pytest -n 2 tests/compiling tests/numerics tests/models tests/links tests/policies tests/agent tests/simulation -m 'not nightly and not slow'

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

docs: $(READY)
	$(BIN)/python -m sphinx -E -a -W --keep-going -q -b html docs build/site
	@echo build/site/index.html

reference: $(READY)
	$(BIN)/python docs/write_reference.py

bench: $(READY)
	$(BIN)/python benchmarks/speed.py

nightly: $(READY)
	$(BIN)/python -m pytest -n 2 -m nightly

numba-range: $(READY)
	$(BIN)/python benchmarks/numba_range.py

clean:
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

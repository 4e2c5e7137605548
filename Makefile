# Two commands, each doing all its set-up on a fresh machine.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# The explorer's page, built from web/ into the package (needs Node), and tested in Chromium (Debian's chromium and chromium-driver).
page:
	cd web && npm ci --no-audit --no-fund --silent && npm run --silent check && npm run --silent build

test-page: setup
	$(BIN)/python -m pip install --quiet -e '.[browser]'
	MINITRITON_BROWSER=required $(BIN)/python -m pytest tests/browser

.PHONY: page test-page demo test fuzz golden lint types setup clean

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[dev,cuda,explorer,notebook,lab]'
	touch $@

setup: $(VENV)/.ready

demo: setup
	$(BIN)/python -m minitriton demo

test: setup lint types
	$(BIN)/python -m pytest -n 2

# make fuzz N=20000 SEED=1
N ?= 1000
SEED ?= 0
fuzz: setup
	$(BIN)/python -m minitriton fuzz --count $(N) --seed $(SEED) --out fuzz-findings

# What the examples compile to, written anew: read `git diff tests/golden`.
golden: setup
	$(BIN)/python tests/golden/golden_files.py

lint: setup
	$(BIN)/ruff check minitriton tests benchmarks examples
	$(BIN)/ruff format --check minitriton tests benchmarks examples

types: setup
	$(BIN)/pyright --pythonpath $(BIN)/python

clean:
	rm -rf $(VENV) build dist *.egg-info

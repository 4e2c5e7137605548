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

# The documentation as a site, in site/: search, an API reference, an explorer page; links are checked on the way.
docs: setup
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	$(BIN)/python docs/make_site.py

.PHONY: docs page test-page demo release test test-whole check fuzz golden lint types setup clean

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[dev,cuda,explorer,notebook,lab]'
	touch $@

setup: $(VENV)/.ready

# What the demo needs and no more: 300 MB, where the whole set-up has 1.7 GB.
$(VENV)/.core: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -e .
	touch $@

demo: $(VENV)/.core
	$(BIN)/python -m minitriton demo

# A wheel and a source archive, installed into a clean environment each: the core, and each extra.
EXTRAS := cuda explorer notebook lab
release: setup
	rm -rf dist && $(BIN)/python tests/release.py dist
	for extra in "" $(EXTRAS); do rm -rf dist/clean && $(PYTHON) -m venv dist/clean && \
	  dist/clean/bin/pip install --quiet "$$(echo dist/*.whl)$${extra:+[$$extra]}" && dist/clean/bin/minitriton --version || exit 1; done
	rm -rf dist/clean

test: setup lint types
	$(BIN)/python -m pytest -n 2

# Before a release or a change of many passes: every case of the families of which `make test` draws some (`sampled` in tests/).
test-whole: setup lint types
	$(BIN)/python -m pytest -n 2 --whole

# While working: lint, types, and tests that touch every layer, side by side; under 90 s on two idle cores.
CHECK := ratchets test_layers.py test_rooms.py host target/test_architectures.py layouts/test_to_linear.py test_knobs.py \
  dialects/test_ttg_verify.py dialects/test_text_parsing.py dialects/test_op_rules.py \
  analysis/test_axis_info.py analysis/test_membar.py analysis/test_allocation.py frontend/test_errors.py frontend/test_loops.py \
  passes/test_names.py passes/test_fixpoints_end.py passes/test_canonicalize.py passes/test_coalesce.py test_pass_manager.py compilation/test_overrides.py \
  codegen/test_llvm_text.py codegen/test_hints_and_options.py interpreter/test_interpret.py interpreter/test_integer_ops.py \
  emulator/test_arithmetic.py emulator/test_report.py emulator/test_example_kernels.py runtime/test_cache.py \
  runtime/test_emulation.py runtime/test_launcher.py golden lab/test_states.py lab/test_soundness.py fuzz/test_agreement.py \
  explorer/test_recording.py profiler as_triton/test_module_paths.py tools
check: setup lint
	@$(BIN)/pyright --pythonpath $(BIN)/python & types=$$!; \
	$(BIN)/python -m pytest $(addprefix tests/,$(CHECK)); tests=$$?; wait $$types && exit $$tests

# make fuzz N=20000 SEED=1
N ?= 1000
SEED ?= 0
fuzz: setup
	$(BIN)/python -m minitriton fuzz --count $(N) --seed $(SEED) --out fuzz-findings

# What the examples compile to, written anew: read `git diff tests/golden`.
golden: setup
	$(BIN)/python tests/golden/golden_files.py

lint: setup
	$(BIN)/ruff check minitriton minitriton_kernels tests benchmarks examples
	$(BIN)/ruff format --check minitriton minitriton_kernels tests benchmarks examples

types: setup
	$(BIN)/pyright --pythonpath $(BIN)/python

clean:
	rm -rf $(VENV) build dist *.egg-info

# Eightfold: every target makes its own virtual environment in .venv first.
# Needs python3 (>= 3.11) with venv, make, g++, perl, git; Python packages come from PyPI.

PYTHON ?= python3
BIN := .venv/bin
SETUP := .venv/.setup-done
SYNTH := .venv/.setup-synth-done
DOCS := .venv/.setup-docs-done
CONFIG ?= base
SEEDS ?= 3
BLOCKS ?=
JOBS ?= 2
CASES ?= 3000
NETWORKS ?= 300
RTL_MODELS ?= 500
SEED ?= 0
COVERAGE ?= build/coverage
MODELS ?=

.DEFAULT_GOAL := help
.PHONY: help setup run test test-fast test-long lint check verilog synth figures docs clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /|/' | \
		while IFS='|' read -r target text; do printf '  make %-10s %s\n' "$$target" "$$text"; done

$(SETUP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "make: $(PYTHON) is older than 3.11; set PYTHON=python3.11 or newer" >&2; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(SYNTH): $(SETUP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,synth]'
	@touch $@

$(DOCS): $(SETUP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	@touch $@

setup: $(SETUP) ## make .venv with everything that run, test and check need

run: $(SETUP) ## the handwritten digits through the hardware, every tensor against LiteRT
	@$(BIN)/python -m examples.digits.run --config $(CONFIG)

test: $(SETUP) ## the tests on Verilator and, if installed, Icarus; all but those that repeat at larger sizes
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not long"

test-long: $(SETUP) ## CASES=3000 models per operator in golden, RTL_MODELS=500 and NETWORKS=300 in RTL, from SEED=0; coverage; larger sizes (over an hour)
	@rm -rf $(COVERAGE)
	@EIGHTFOLD_COVERAGE=$(COVERAGE) EIGHTFOLD_CASES=$(CASES) EIGHTFOLD_NETWORKS=$(NETWORKS) EIGHTFOLD_SEED=$(SEED) \
		EIGHTFOLD_MODELS=$(RTL_MODELS) \
		$(BIN)/python -m pytest -n $(JOBS) --dist worksteal tests/golden/test_against_litert.py \
		tests/golden/test_against_tflite_micro.py \
		tests/eightfold/execute/test_random_networks.py tests/sim/system/test_random_networks_on_rtl.py \
		tests/sim/system/test_operators_on_rtl.py tests/examples/test_operators.py
	@$(BIN)/python -m eightfold.coverage.report $(COVERAGE)
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m long

lint: $(SETUP) ## format, lint and types
	@$(BIN)/ruff format --check --quiet . || { echo "make lint: run .venv/bin/ruff format" >&2; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/pyright

check: $(SETUP) ## lint, beside it the fast tests; passes on every commit
	@$(MAKE) --no-print-directory --jobs 2 lint test-fast

test-fast: $(SETUP)
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow and not long" --quiet

verilog: $(SETUP) ## Verilog of every unit, and of the accelerator at each preset, with lint waivers, file list and FuseSoC core, into build/verilog
	@$(BIN)/eightfold verilog --all --output build/verilog

synth: $(SYNTH) ## area and clock on ECP5 into build/synth: of units, or with CONFIG=small of the accelerator
	@$(BIN)/eightfold synth --seeds $(SEEDS) $(if $(BLOCKS),--blocks-of $(BLOCKS)) $(if $(filter command,$(firstword $(origin CONFIG))),--unit accelerator --config $(CONFIG))

figures: $(if $(MODELS),$(DOCS)) ## cycles of the networks in MODELS=folder into README, docs/cycles.md and the chart
	@test -n "$(MODELS)" || { echo "make figures: set MODELS to a folder of .tflite files" >&2; exit 2; }
	@$(BIN)/python -m eightfold.documents.figures "$(MODELS)"

docs: $(DOCS) ## the documents as a site with search, into build/site
	@$(BIN)/python -m eightfold.documents.site

clean: ## remove what was built; .venv stays
	rm -rf build .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

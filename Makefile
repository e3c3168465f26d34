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
LONG ?= build/long
MODELS ?=

CAMPAIGN = $(BIN)/eightfold campaign run --workers $(JOBS) --seed $(SEED)

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

# A campaign that fails ends with status 1, and the report of all tells it again.
test-long: $(SETUP) ## a campaign: CASES=3000 models per operator in golden, RTL_MODELS=500 and NETWORKS=300 in RTL, from SEED=0, with coverage, into LONG=build/long; then larger sizes (over an hour)
	@rm -rf $(LONG)
	@$(CAMPAIGN) --suite operators --suite networks --models $(CASES) --networks $(NETWORKS) --out $(LONG)/golden || [ $$? -eq 1 ]
	@$(CAMPAIGN) --reference tflm --models $(CASES) --out $(LONG)/tflm || [ $$? -eq 1 ]
	@$(CAMPAIGN) --suite operators --suite networks --suite requantizer --suite faults --backend verilator --config small --coverage --models $(RTL_MODELS) --networks $(NETWORKS) --runs 20 --out $(LONG)/verilator || [ $$? -eq 1 ]
	@$(CAMPAIGN) --suite networks --backend verilator --config tests/configs/little-fits.toml --networks $(NETWORKS) --out $(LONG)/little-fits || [ $$? -eq 1 ]
	@! command -v iverilog >/dev/null || $(CAMPAIGN) --suite operators --suite networks --suite faults --backend icarus --config nano --models 8 --networks 6 --runs 2 --out $(LONG)/icarus || [ $$? -eq 1 ]
	@$(BIN)/eightfold campaign merge $(LONG)/* -o $(LONG)/all || [ $$? -eq 1 ]
	@$(BIN)/eightfold campaign report $(LONG)/all --html $(LONG)/report.html --junit $(LONG)/report.xml
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

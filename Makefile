# Eightfold: every target makes its own virtual environment in .venv first.
# Needs python3 (>= 3.11) with venv, make, g++, perl, git; Python packages come from PyPI.

PYTHON ?= python3
BIN := .venv/bin
SETUP := .venv/.setup-done
SYNTH := .venv/.setup-synth-done
PROVE := .venv/.setup-prove-done
DOCS := .venv/.setup-docs-done
CONFIG ?= base
SEEDS ?= 3
BLOCKS ?=
BOARD ?= ulx3s-45f
JOBS ?= 2
CASES ?= 3000
NETWORKS ?= 300
RTL_MODELS ?= 500
HOSTILE ?= 100000
STREAMS ?= 10000
MUTANTS ?= 400
SEED ?= 0
LONG ?= build/long
EVIDENCE ?= build/evidence
PROOFS ?= build/proofs
GATES ?= build/gates
GATE_MODELS ?= 20
WATCH ?= build/watch
WATCH_MODELS ?= 30
MODELS ?=

CAMPAIGN = $(BIN)/eightfold campaign run --workers $(JOBS)
SEEDED = --seed $(SEED)

.DEFAULT_GOAL := help
.PHONY: help setup run test test-fast test-long watch evidence prove gates lint check verilog synth board figures documents docs clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /|/' | \
		while IFS='|' read -r target text; do printf '  make %-10s %s\n' "$$target" "$$text"; done

$(SETUP): pyproject.toml lab/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "make: $(PYTHON) is older than 3.11; set PYTHON=python3.11 or newer" >&2; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' --editable lab
	@touch $@

$(SYNTH): $(SETUP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,synth]' --editable lab
	@touch $@

$(DOCS): $(SETUP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]' --editable lab
	@touch $@

$(PROVE): $(SETUP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,prove]' --editable lab
	@touch $@

setup: $(SETUP) ## make .venv with everything that run, test and check need

run: $(SETUP) ## the handwritten digits through the hardware, every tensor against LiteRT
	@$(BIN)/python -m examples.digits.run --config $(CONFIG)

# Tests start hundreds of processes, each of which would compile all modules again.
test test-fast test-long check: export PYTHONDONTWRITEBYTECODE =

test: $(SETUP) ## the tests on Verilator and, if installed, Icarus; all but those that repeat at larger sizes
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not long"

# The campaigns of test-long, and those that evidence adds: a name, and what is asked for.
LONG_CAMPAIGNS = golden tflm verilator networks little-fits gates $(if $(shell command -v iverilog),icarus)
MORE_CAMPAIGNS = odd hostile streams proofs mutants
golden = operators networks --cases operators=$(CASES) --cases networks=$(NETWORKS) $(SEEDED)
tflm = operators --reference tflm --cases $(CASES) $(SEEDED)
verilator = operators --backend verilator --config small --coverage --cases $(RTL_MODELS) $(SEEDED)
networks = networks requantizer faults --backend verilator --config small --cases 20 --cases networks=$(NETWORKS) $(SEEDED)
little-fits = networks --backend verilator --config tests/configs/little-fits.toml --cases $(NETWORKS) $(SEEDED)
gates = operators networks requantizer --backend verilator --config nano --netlist ecp5 --cases $(GATE_MODELS) --cases requantizer=1 $(SEEDED)
icarus = operators networks faults --backend icarus --config nano --cases operators=8 --cases networks=6 --cases faults=2 $(SEEDED)
odd = networks --backend verilator --config odd --cases $(NETWORKS) $(SEEDED)
hostile = hostile --cases $(HOSTILE) $(SEEDED)
streams = streams --backend verilator --config nano --cases $(STREAMS) $(SEEDED)
proofs = proofs
mutants = mutants --cases $(MUTANTS) $(SEEDED)

# A campaign that fails ends with status 1, and the report of all tells it again. One that was
# stopped goes on.
define campaign
	@if [ -e $(2)/$(1) ]; then $(BIN)/eightfold campaign resume $(2)/$(1) --workers $(JOBS); \
		else $(CAMPAIGN) $($(1)) --out $(2)/$(1); fi || [ $$? -eq 1 ]

endef

test-long: $(SETUP) ## a campaign: CASES=3000 models per operator in golden, RTL_MODELS=500 and NETWORKS=300 in RTL, from SEED=0, with coverage, into LONG=build/long; then larger sizes (over an hour)
	@rm -rf $(LONG)
	$(foreach name,$(LONG_CAMPAIGNS),$(call campaign,$(name),$(LONG)))
	@$(BIN)/eightfold campaign merge $(LONG)/* -o $(LONG)/all || [ $$? -eq 1 ]
	@$(BIN)/eightfold campaign report $(LONG)/all --html $(LONG)/report.html --junit $(LONG)/report.xml
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m long

watch: $(SETUP) ## golden against the newest nightly of LiteRT and the newest TFLite Micro from PyPI: WATCH_MODELS=30 models of every operator, in WATCH=build/watch; fails if a result has drifted
	@$(BIN)/python -m lab.watch $(WATCH) --cases $(WATCH_MODELS) --seed $(SEED) --workers $(JOBS)

evidence: $(PROVE) ## test-long's campaigns, HOSTILE=100000 mutated models, STREAMS=10000, proofs, MUTANTS=400 of the hardware into EVIDENCE=build/evidence, and docs/evidence.md from them; goes on where it was stopped (many hours)
	$(foreach name,$(LONG_CAMPAIGNS) $(MORE_CAMPAIGNS),$(call campaign,$(name),$(EVIDENCE)))
	@$(BIN)/python -m lab.documents.evidence $(EVIDENCE)/*

prove: $(PROVE) ## the proofs about the hardware into PROOFS=build/proofs; those that need ABC only where berkeley-abc is installed
	@rm -rf $(PROOFS)
	@$(CAMPAIGN) $(proofs) --out $(PROOFS)

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

board: $(SYNTH) ## the bitstream of BOARD=ulx3s-45f into build/board, by the nextpnr-ecp5 on PATH if there is one
	@$(BIN)/eightfold board build $(BOARD) -o build/board/$(BOARD).bit

gates: $(SETUP) ## a campaign on the ECP5 netlist of nano in place of its RTL: GATE_MODELS=20 models per operator and networks, requantizers, into GATES=build/gates
	@rm -rf $(GATES)
	@$(CAMPAIGN) $(gates) --out $(GATES)

figures: $(if $(MODELS),$(DOCS)) ## cycles of the networks in MODELS=folder into README, docs/cycles.md and the chart
	@test -n "$(MODELS)" || { echo "make figures: set MODELS to a folder of .tflite files" >&2; exit 2; }
	@$(BIN)/python -m lab.documents.figures "$(MODELS)"

documents: $(SETUP) ## the generated parts of the documents, and blocks of output, written anew; measured figures stay
	@$(BIN)/python -m lab.documents
	@$(BIN)/python -m lab.documents.blocks --write

docs: $(DOCS) ## the documents as a site with search, into build/site
	@$(BIN)/python -m lab.documents.site

clean: ## remove what was built; .venv stays
	rm -rf build .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

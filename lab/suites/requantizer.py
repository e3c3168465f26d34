"""The requantizer bank alone, every lane against golden: corners, ties and random words."""

from pathlib import Path

from eightfold.campaign.records import Case, Evidence, Unit, error_case
from eightfold.campaign.suite import Suite
from eightfold.sim.benches.requantizer import RequantizerBank
from eightfold.sim.simulator.build import Design
from eightfold.sim.simulator.runner import BenchFailed, run_bench
from lab.gates import gates
from lab.suites.common import BACKEND, CONFIG, NETLIST, SEED, plan_in_units, run_each

BENCH = "eightfold.sim.benches.requantizer"
LANES = {"verilator": 8, "icarus": 1}
RANDOM = {"verilator": 1_000_000, "icarus": 1000}
"""Random words of a case."""
EVERY = {"verilator": 1, "icarus": 400}
"""One of so many corner cases is taken."""


def _case(unit: Unit, seed: int, trace: Path | None) -> Case:
    parameters = {
        "lanes": LANES[unit.backend],
        "random": RANDOM[unit.backend],
        "corners": EVERY[unit.backend],
    }
    try:
        run_bench(
            _design(unit),
            BENCH,
            unit.simulator,
            parameters=parameters,
            seed=seed,
            trace=trace,
        )
    except BenchFailed as error:
        first, _, rest = str(error).partition("\n")
        evidence = Evidence(log=f"{first}\n{rest}")
        return Case(seed=seed, verdict="failed", message=first, evidence=evidence)
    except Exception as error:
        return error_case(seed, "", error)
    return Case(seed=seed, verdict="passed")


def _design(unit: Unit) -> Design:
    def bank() -> RequantizerBank:
        return RequantizerBank(LANES[unit.backend])

    return gates(bank, unit.netlist) if unit.netlist else bank


SUITE = Suite(
    name="requantizer",
    text="the requantizers alone: every shift, ties, corners, a million random words a case",
    run=run_each(_case),
    plan=plan_in_units("requantizer", 1),
    options=(SEED, BACKEND, CONFIG, NETLIST),
    cases=10,
    backends=("verilator", "icarus"),
    designs=lambda unit: [_design(unit)],
)

"""Random networks whose runs are disturbed, each followed by a good run that must be right.

Bus errors at random places, soft resets at random times, command streams that end too soon. What
the accelerator reports is fixed by the fault where that is certain; no byte outside of its arena
may change and no rule of AXI be broken, which the simulation watches in every run.
"""

from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from eightfold.campaign.records import Case, Evidence, Unit, error_case
from eightfold.campaign.suite import Suite
from eightfold.compiler import Compiled
from eightfold.isa import ErrorCode
from eightfold.operators import run_graph
from eightfold.sim.simulator.system import Place, Run, RunResult, run_system
from lab.gates import accelerator_source
from lab.suites import common
from lab.suites.networks import Network, make_network

FAULTS = 12
"""Disturbed runs of a network."""

LONGEST = 3000
"""Cycles after which a reset comes, at most: networks of this kind take some thousand."""


def _case(unit: Unit, seed: int, trace: Path | None) -> Case:
    made = None
    try:
        made = make_network(unit, seed)
        return _disturbed(unit, made, trace)
    except Exception as error:
        return error_case(seed, "", error, made.model if made else None)


def _disturbed(unit: Unit, made: Network, trace: Path | None) -> Case:
    compiled, given = made.stream, {**made.graph.initial_state(), **made.batch[0]}
    good = Run(inputs=made.arena(given))
    rng = np.random.default_rng([0xFA017, made.seed])
    faults = [random_fault(rng, compiled, good) for _ in range(FAULTS)]
    done = run_system(
        compiled.config,
        unit.simulator,
        words=compiled.words,
        model=compiled.model,
        arena_bytes=compiled.arena,
        runs=[each for fault in faults for each in (fault, good)],
        timeout=20_000,
        limit=200_000,
        stall=unit.stalls(made.seed),
        seed=made.seed,
        accelerator=accelerator_source(compiled.config, unit.netlist),
        trace=trace,
    )
    golden = run_graph(made.graph, given, unit.reference)
    for number, fault in enumerate(faults):
        wrong = wrong_end(fault, done[2 * number])
        evidence = Evidence()
        if not wrong:
            found = _wrong_run(made, golden, done[2 * number + 1])
            wrong, evidence = found if found else ("", evidence)
        if wrong:
            return Case(
                seed=made.seed,
                verdict="failed",
                message=f"fault {number} of {FAULTS}, {_described(fault)}: {wrong}",
                evidence=replace(evidence, model=made.model, inputs=given),
            )
    return Case(seed=made.seed, verdict="passed")


def random_fault(rng: np.random.Generator, compiled: Compiled, good: Run) -> Run:
    """Return a run with one fault: where the bus answers with an error, a reset, a short stream."""
    size = 4 * len(compiled.words)
    port = compiled.config.port
    match rng.integers(5):
        case 0:
            return replace(good, read_error=_beat(rng, "commands", size, port))
        case 1 if compiled.model:
            return replace(good, read_error=_beat(rng, "model", len(compiled.model), port))
        case 2:
            place = _beat(rng, "arena", compiled.arena, port)
            return replace(good, read_error=place, write_error=place)
        case 3:
            words = int(rng.integers(1, len(compiled.words)))
            return replace(good, registers={"COMMAND_LENGTH": 4 * words})
        case _:
            return replace(good, reset_after=int(rng.integers(1, LONGEST)))


def _beat(rng: np.random.Generator, region: str, size: int, port: int) -> Place:
    """Return as many bytes as a beat has: one beat's address is among them."""
    first = int(rng.integers(max(1, size - port + 1)))
    return cast(Place, (region, first, first + port))


def wrong_end(fault: Run, result: RunResult) -> str:
    """Return what is wrong with the end of a disturbed run; empty if it is right."""
    if fault.reset_after is not None:  # it may have ended before
        return ""
    if fault.registers:
        legal = (ErrorCode.ILLEGAL_COMMAND,)
    elif fault.write_error is not None:
        legal = (ErrorCode.NONE, ErrorCode.AXI_READ, ErrorCode.AXI_WRITE)  # never touched: none
    elif fault.read_error is not None and fault.read_error[0] == "commands":
        legal = (ErrorCode.AXI_READ,)
    else:
        legal = (ErrorCode.NONE, ErrorCode.AXI_READ)
    if result.error in legal and result.done == (result.error == ErrorCode.NONE):
        return ""
    names = " or ".join(code.name for code in legal)
    return f"ended with {result.error.name}, done {result.done}, in place of {names}"


def _wrong_run(made: Network, golden: dict[int, np.ndarray], result: RunResult) -> common.Found:
    if not result.done:
        return f"the good run after it ended with {result.error.name}", Evidence()
    found = common.against_golden(made.graph, made.outputs(result), golden)
    return (f"the good run after it differs: {found[0]}", found[1]) if found else None


def _described(fault: Run) -> str:
    if fault.reset_after is not None:
        return f"a reset after {fault.reset_after} cycles"
    if fault.registers:
        return f"a stream of {fault.registers['COMMAND_LENGTH']} bytes"
    place = fault.read_error or fault.write_error
    assert place is not None
    return f"a bus error at byte {place[1]} of {place[0]}"


SUITE = Suite(
    name="faults",
    text="bus errors, resets and short streams in random networks, a good run after each",
    run=common.run_each(_case),
    plan=common.plan_in_units("faults", 1),
    options=common.SIMULATED,
    cases=10,
    backends=("verilator", "icarus"),
    designs=common.accelerator_designs,
)

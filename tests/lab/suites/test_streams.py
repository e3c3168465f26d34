"""The suite of command streams: it passes, shrinks what fails, and finds broken hardware."""

import resource
from collections import Counter
from typing import Any

import numpy as np
import pytest

import eightfold.hw.control.control
import eightfold.hw.matrix.weight_stream
import eightfold.sim.simulator.system
from eightfold.campaign.suite import suites
from eightfold.hw.accelerator import Accelerator
from eightfold.hw.control.run_control import RunControl
from eightfold.hw.memory.region_fetch import RegionFetch
from eightfold.isa import ErrorCode, Opcode
from eightfold.rtl.verilog import generate
from eightfold.sim.simulator.build import Verilog
from eightfold.sim.simulator.system import FOLDER, SOURCES, RunResult, system_design
from eightfold.target.config import PRESETS
from lab.formal.proof import Break
from lab.suites import streams as suite
from lab.suites.streams import good_case, random_case, wrong_run
from tests.support.campaign.units import evidence_of, expect_passed, units_of
from tests.support.hardware.broken import broken

NANO = PRESETS["nano"]


def unit(first=0, count=1):
    """Return a unit of streams."""
    (only,) = units_of("streams", backend="verilator", config="nano", cases=count, seed=first)
    return only


@pytest.mark.slow
@pytest.mark.parametrize("count", [30, pytest.param(100, marks=pytest.mark.long)])
def test_streams_on_the_rtl(count):
    expect_passed(unit(5_000, count))


@pytest.mark.slow
def test_streams_are_of_every_kind_and_the_same_each_time():
    cases = [random_case(NANO, seed) for seed in range(40)]
    again = random_case(NANO, 17)
    np.testing.assert_array_equal(again.words, cases[17].words)
    assert again.parts == cases[17].parts
    kinds = Counter(case.kind for case in cases)
    assert {"legal program", "mutated", "soft reset"} <= kinds.keys()
    for case in cases:
        if case.kind == "legal program":
            assert case.ending.arena is not None
            assert str(case.ending) == "done"


def test_a_gather_from_far_behind_the_arena_is_not_followed():
    """Its strides are of gigabytes: noting every byte before them takes as many."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, before[1]))
    try:
        assert random_case(NANO, 2101).ending.done
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.slow
def test_the_good_run_uses_every_command():
    used = {item.opcode for item in good_case(NANO).program.items}
    assert used == set(Opcode) - {Opcode.BEGIN, Opcode.END}


def result(case, **changes) -> RunResult:
    """Return a run that did what it had to."""
    values: dict[str, Any] = {
        "arena": case.ending.arena,
        "done": True,
        "error": ErrorCode.NONE,
        "engine": 0,
        "index": 0,
        "counters": {"CYCLES": 100},
        "events": np.zeros((0, 2), np.int64),
        "ended": True,
        "reads_outside": 0,
        "unanswered": 0,
        "bus_errors": 0,
    }
    return RunResult(**values | changes)


def test_what_is_wrong_with_a_run_is_told():
    case = good_case(NANO)
    assert case.ending.arena is not None
    spoilt = case.ending.arena.copy()
    spoilt[8] ^= 1
    expected = f"{spoilt[8]}, expected {case.ending.arena[8]}"
    error = {"done": False, "error": ErrorCode.ADDRESS, "engine": 1, "index": 3}
    for changes, text in (
        ({}, ""),
        ({"arena": spoilt}, f"arena: 1 bytes differ, the first at 8: {expected}"),
        ({"reads_outside": 2}, "2 bursts read outside of commands, model and arena"),
        ({"unanswered": 1}, "1 bursts were not answered when it was over"),
        ({"bus_errors": 3}, "done, and 3 errors on the bus are hidden"),
        (error, "ended ADDRESS of 1 in command 3, in place of done"),
        ({"done": False}, "ended without an error, done False, in place of done"),
        ({"ended": False}, "no end in 60000 cycles, in place of done"),
    ):
        assert wrong_run(case, result(case, **changes)) == text


def test_a_finding_is_shrunk_to_what_it_needs(monkeypatch):
    """Here a VECTOR and a mutation; another failure of fewer parts is not the finding."""
    seed = next(
        seed
        for seed in range(1000)
        if len(random_case(NANO, seed).mutations) > 1
        and any(item.opcode == Opcode.VECTOR for item in random_case(NANO, seed).items.values())
    )
    whole = random_case(NANO, seed)
    bad = whole.mutations[0]

    def judged(unit, cases, trace=None):
        (case,) = cases
        has_vector = any(item.opcode == Opcode.VECTOR for item in case.items.values())
        if bad not in case.mutations:
            return [("something else", result(case))]
        return [("arena: 7 bytes differ" if has_vector else "", result(case))]

    monkeypatch.setattr(suite, "judged", judged)
    (case,) = suites()["streams"].run(unit(seed), None).cases
    assert (case.verdict, case.message) == ("failed", "mutated: arena: 7 bytes differ")
    evidence = evidence_of(case)
    assert f"shrunk to 2 of {len(whole.parts)} commands" in evidence.log
    assert str(bad) in evidence.log
    assert evidence.files["whole.bin"] == whole.words.astype("<u4").tobytes()
    assert len(evidence.files["commands.bin"]) < len(evidence.files["whole.bin"])


def test_what_ends_a_simulation_is_told_of_the_stream_that_did_it(monkeypatch):
    class Ends(suite.BenchFailed):
        def __init__(self):
            Exception.__init__(self, "2 violations of AXI")

    def system(config, simulator, *, runs, **options):
        if any(run.words is bad.words for run in runs):
            raise Ends
        return [result(good_case(NANO)) for _ in runs]

    cases = [random_case(NANO, seed) for seed in (1, 2, 3)]
    bad = cases[1]
    monkeypatch.setattr(suite, "run_system", system)
    monkeypatch.setattr(suite, "wrong_run", lambda *_: "")
    monkeypatch.setattr(suite, "wrong_good_run", lambda *_: "")
    found = [wrong for wrong, _ in suite.judged(unit(1, 3), cases)]
    assert found == ["", "2 violations of AXI", ""]


MUTANTS = {
    "no_drain": (RunControl, Break("self.memory_idle &", ""), eightfold.hw.control.control),
    "fetch_leaves_the_model": (
        RegionFetch,
        Break("unaligned | (end > self.region.size)", "unaligned"),
        eightfold.hw.matrix.weight_stream,
    ),
}
"""Hardware that breaks a promise that no stream may break."""

FIRST = {"no_drain": 0, "fetch_leaves_the_model": 240}
"""Seeds of streams, some of which leave what the mutant lets them leave."""


@pytest.mark.long
@pytest.mark.parametrize("name", MUTANTS)
def test_finds_hardware_that_is_broken(monkeypatch, tmp_path, name):
    component, fault, user = MUTANTS[name]
    monkeypatch.setattr(user, component.__name__, broken(component, fault))
    source = tmp_path / "accelerator.v"
    source.write_text(generate(Accelerator(NANO), "eightfold_accelerator"))
    design = system_design(NANO)
    sources = (*(FOLDER / f"{each}.v" for each in SOURCES), source)
    faulty = Verilog(design.top, sources, design.parameters)
    monkeypatch.setattr(eightfold.sim.simulator.system, "system_design", lambda *_: faulty)
    monkeypatch.setattr(suite, "smallest", lambda unit, case, wrong, budget: case)
    cases = suites()["streams"].run(unit(FIRST[name], 12), None).cases
    assert any(case.verdict == "failed" for case in cases)

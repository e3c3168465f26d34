"""Variants that are wrong: a bench says the inputs, and golden's steps to the result."""

import re

import pytest

import eightfold.hw.array.lane
import eightfold.hw.mover.engine
import eightfold.hw.requantizer
from eightfold.golden.requantize import requantize
from eightfold.hw.blocks.requantize_pipeline import RequantizePipeline
from eightfold.hw.mover.writer import Writer
from eightfold.sim.simulator.runner import BenchFailed
from eightfold.sim.simulator.toolchain import icarus_available
from lab.formal.proof import Break
from tests.hw.array import test_mac_array as mac_array
from tests.hw.matrix import test_engine as matrix
from tests.hw.mover import test_engine as mover
from tests.hw.test_requantizer import run_requantizer
from tests.hw.vector import test_engine as vector
from tests.support.hardware.broken import broken

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed"),
]

NO_STICKY = Break("sticky | (taken", "sticky & (taken")
"""Takes the guard bit for the whole remainder."""

INPUTS = re.compile(
    r"inputs: acc (?P<acc>-?\d+), bias (?P<bias>-?\d+), left (?P<left>\d+), "
    r"multiplier (?P<multiplier>\d+), single (?P<single>\d), right (?P<right>\d+), "
    r"rounding (?P<rounding>\d) \(\w+\), zero_point (?P<zero_point>-?\d+), "
    r"low (?P<low>-?\d+), high (?P<high>-?\d+)"
)


def run_mac_array():
    mac_array.run(mac_array.small_memories(4, 4, "infer"), "icarus", 30, passes=25)


def run_matrix():
    testcase = ["random_commands/stall=0.3"]
    matrix.run(matrix.small_memories(4, 4), "icarus", 30, 3, testcase=testcase)


def run_vector():
    testcase = "random_commands/stall=0.3/idle=0.0"
    vector.run_engine("icarus", vector.NARROW | {"vector_lanes": 2}, 8, 120, testcase=testcase)


def run_ties():
    run_requantizer("icarus", 3, random=1000, corners=1, testcase="ties")


@pytest.mark.parametrize(
    ("run", "module"),
    [
        (run_ties, eightfold.hw.requantizer),
        (run_mac_array, eightfold.hw.array.lane),
        (run_matrix, eightfold.hw.array.lane),
        (run_vector, eightfold.hw.array.lane),
    ],
)
@pytest.mark.usual(names=["ties", "run_mac_array"])
def test_a_wrong_requantization_is_explained(monkeypatch, run, module):
    monkeypatch.setattr(module, "RequantizePipeline", broken(RequantizePipeline, NO_STICKY))
    with pytest.raises(BenchFailed) as raised:
        run()
    text = str(raised.value)
    got, expected = map(
        int, re.findall(r"(?:differs|as int8): got (-?\d+), expected (-?\d+)", text)[-1]
    )
    assert got != expected
    inputs = INPUTS.search(text)
    assert inputs, text
    numbers = {name: int(number) for name, number in inputs.groupdict().items()}
    assert int(requantize(numbers.pop("acc"), **numbers)) == expected
    assert re.search(r"rounding_shift\(-?\d+, right \d+, \w+\) = ", text)
    (last,) = re.findall(r"clamp\(.*\) = (-?\d+)", text)
    assert int(last) == expected


def test_a_wrong_byte_of_the_mover_names_its_command(monkeypatch):
    hasty = broken(Writer, Break("settled.eq(~unit.spaces.to_memory)", "settled.eq(1)"))
    monkeypatch.setattr(eightfold.hw.mover.engine, "Writer", hasty)
    testcase = "commands_one_after_the_other/latency=20/stall=0.0/busy=0.0"
    with pytest.raises(BenchFailed, match="differs: got") as raised:
        mover.run_mover(mover.NANO, "icarus", 4, testcase)
    assert " copies " in str(raised.value) or "no command writes it" in str(raised.value)

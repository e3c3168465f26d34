"""The netlist of `nano` computes what its RTL computes, in as many cycles."""

from pathlib import Path

import numpy as np
import pytest

import examples.digits
from eightfold import Session
from eightfold.run.report.result import RunResult
from examples.operators import operators_model
from lab.gates import netlist_source

pytestmark = pytest.mark.long

DIGITS = Path(examples.digits.__file__).with_name("digits.tflite")


def run(model: bytes, netlist: str, stall: float) -> RunResult:
    with Session("verilator", "nano", source=netlist_source(netlist), stall=stall) as session:
        return session.run(model, seed=3, compare=True, all_tensors=True)


@pytest.mark.parametrize(("netlist", "stall"), [("ecp5:0", 0.0), ("ecp5:1", 0.3)])
@pytest.mark.parametrize("network", ["operators", "digits"])
def test_tensors_and_cycles_are_those_of_the_rtl(network: str, netlist: str, stall: float) -> None:
    model = operators_model() if network == "operators" else DIGITS.read_bytes()
    rtl, gates = run(model, "", stall), run(model, netlist, stall)
    assert gates.mismatches == 0, gates.first_mismatch
    assert gates.tensors.keys() == rtl.tensors.keys()
    for index, tensor in rtl.tensors.items():
        np.testing.assert_array_equal(gates.tensors[index], tensor)
    for ours, theirs in zip(gates.operators, rtl.operators, strict=True):
        assert (ours.name, ours.cycles, ours.counters) == (
            theirs.name,
            theirs.cycles,
            theirs.counters,
        )

"""Lanes that read one register get copies of it, and compute what they did."""

from pathlib import Path

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from eightfold.synth.area import cells_of
from eightfold.synth.rewrite import copy_registers
from tests.support.hardware.every_rule import Lane
from tests.support.hardware.netlist_proof import proved

pytestmark = pytest.mark.slow


class Lanes(wiring.Component):
    """Lanes, and a pin outside them that reads the register by which they choose."""

    a: Signal
    b: Signal
    choice: Signal
    register: Signal
    results: Signal

    def __init__(self, count: int) -> None:
        self.count = count
        ports = {"a": In(8), "b": In(8), "choice": In(1), "register": Out(1)}
        super().__init__({**ports, "results": Out(8 * count)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.register.eq(self.choice)
        for number in range(self.count):
            m.submodules[f"lane{number}"] = lane = Lane(-number)
            m.d.comb += [lane.a.eq(self.a), lane.b.eq(self.b), lane.choice.eq(self.choice)]
            m.d.sync += self.results.word_select(number, 8).eq(lane.chosen)
        return m


@pytest.mark.parametrize(("count", "least", "copies"), [(2, 16, 1), (2, 17, 0), (1, 8, 0)])
def test_lanes_get_copies(tmp_path: Path, count: int, least: int, copies: int) -> None:
    def step(netlist: dict[str, object]) -> dict[str, int]:
        before = cells_of(netlist)["TRELLIS_FF"]
        done = copy_registers(netlist, least)
        return {"copies": done, "registers": cells_of(netlist)["TRELLIS_FF"] - before}

    _, result = proved(tmp_path, Lanes(count), step)
    assert result == {"copies": copies, "registers": copies}

"""Parts that read one register or LUT get copies of it, and compute what they did."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from eightfold.synth.area import cells_of
from eightfold.synth.rewrite import copy_drivers
from tests.support.hardware.every_rule import Lane
from tests.support.hardware.netlist_proof import proved


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


class Cleared(wiring.Component):
    """Registers of two lanes that two inputs together clear."""

    a: Signal
    b: Signal
    clear: Signal
    results: Signal

    def __init__(self) -> None:
        super().__init__({"a": In(8), "b": In(8), "clear": In(2), "results": Out(16)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        cleared = ResetInserter(self.clear.all())
        for number in range(2):
            lane = Lane(-number)
            m.submodules[f"lane{number}"] = cleared(lane)
            m.d.comb += [lane.a.eq(self.a), lane.b.eq(self.b), lane.choice.eq(self.a[0])]
            m.d.comb += self.results.word_select(number, 8).eq(lane.chosen)
        return m


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "least", "kind", "copies"),
    [
        (partial(Lanes, 2), 16, "TRELLIS_FF", 1),
        (partial(Lanes, 2), 17, "TRELLIS_FF", 0),
        (partial(Lanes, 1), 8, "TRELLIS_FF", 0),
        (Cleared, 17, "LUT4", 1),
    ],
)
def test_lanes_get_copies(
    tmp_path: Path, unit: Callable[[], wiring.Component], least: int, kind: str, copies: int
) -> None:
    def step(netlist: dict[str, object]) -> dict[str, int]:
        before = cells_of(netlist)[kind]
        done = copy_drivers(netlist, least)
        return {"copies": done, "more": cells_of(netlist)[kind] - before}

    _, result = proved(tmp_path, unit(), step)
    assert result == {"copies": copies, "more": copies}


def cell(kind: str, inputs: dict[str, list[int]], outputs: dict[str, list[int]]) -> dict[str, Any]:
    directions = {**dict.fromkeys(inputs, "input"), **dict.fromkeys(outputs, "output")}
    return {"type": kind, "connections": inputs | outputs, "port_directions": directions}


def small(readers: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a netlist of a LUT, net 1, and what reads it."""
    cells = {"deep.lut": cell("LUT4", {"A": [2]}, {"Z": [1]}), **readers}
    top = {"attributes": {"top": "1"}, "ports": {}, "netnames": {}, "cells": cells}
    return {"modules": {"unit": top}}


def test_a_read_address_counts_four_times() -> None:
    memories = {
        f"lane{number}.memory": cell("TRELLIS_DPR16X4", {"RAD": [1, 2, 2, 2], "WAD": [1]}, {})
        for number in range(3)
    }
    assert copy_drivers(small(memories), 16) == 0
    assert copy_drivers(small(memories), 15) == 2


def test_the_wire_to_a_multiplexer_beside_a_lut_stays() -> None:
    parts = ("most", "other", "few")
    readers = {
        f"{part}.reader{number}": cell("LUT4", {"A": [1]}, {"Z": [9]})
        for part, count in zip(parts, (24, 12, 1), strict=True)
        for number in range(count)
    }
    readers["other.mux"] = cell("PFUMX", {"ALUT": [1], "C0": [1]}, {"Z": [9]})
    netlist = small(readers)
    assert copy_drivers(netlist, 36) == 1
    cells = netlist["modules"]["unit"]["cells"]
    assert cells["other.lut_copy_10"]["connections"] == {"A": [2], "Z": [10]}
    assert cells["other.mux"]["connections"] == {"ALUT": [1], "C0": [10], "Z": [9]}
    reads = [cells[name]["connections"]["A"] for name in readers if name != "other.mux"]
    assert reads == [[1]] * 24 + [[10]] * 12 + [[1]]

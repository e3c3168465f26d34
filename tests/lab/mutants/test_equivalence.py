"""Proofs that a mutant computes the same: given where it does, refused where it does not."""

from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from eightfold.common.errors import InputError
from eightfold.rtl.verilog import run_yosys, to_rtlil
from lab.mutants.equivalence import SCRIPT, different


class Held(wiring.Component):
    """Offers a word that it was given until it is taken; what changes in mutants is a parameter."""

    def __init__(self, word=0, full=0, reset_less=True, opposite=False, late=0):
        self.word, self.full, self.reset_less = word, full, reset_less
        self.opposite, self.late = opposite, late
        super().__init__({"i": In(4), "give": In(1), "take": In(1), "o": Out(4), "valid": Out(1)})

    def elaborate(self: Any, platform):
        m = Module()
        inner: Any = Inner(self.word, self.reset_less)
        m.submodules.inner = inner
        full = Signal(init=self.full)
        taken = ~self.take if self.opposite else self.take
        counted = Signal(range(40))
        m.d.comb += [self.valid.eq(full), inner.i.eq(self.i), inner.load.eq(~full & self.give)]
        m.d.sync += full.eq((full & ~taken) | self.give)
        with m.If(full):
            m.d.comb += self.o.eq(inner.o)
        if self.late:
            m.d.sync += counted.eq(counted + 1)
            with m.If(counted == self.late):
                m.d.comb += self.o.eq(0)
        return m


class Inner(wiring.Component):
    def __init__(self, word, reset_less):
        self.word, self.reset_less = word, reset_less
        super().__init__({"i": In(4), "load": In(1), "o": Out(4)})

    def elaborate(self: Any, platform):
        m = Module()
        word = Signal(4, init=self.word, reset_less=self.reset_less)
        with m.If(self.load):
            m.d.sync += word.eq(self.i)
        m.d.comb += self.o.eq(word)
        return m


def proved(folder, changed):
    gold, gate = to_rtlil(Held(), "top"), to_rtlil(changed, "top")
    (folder / "gold.il").write_text(gold)
    (folder / "gate.il").write_text(gate)
    pairs = different(gold, gate)
    assert pairs
    for pair in pairs:
        try:
            run_yosys(SCRIPT.format(module=pair.name), folder)
        except InputError as error:
            if "proof did fail" not in str(error):
                raise
            return False
    return True


def test_what_no_output_shows_is_proved(tmp_path):
    changed: Any = Held()
    original = changed.elaborate

    def elaborate(platform):
        m = original(platform)
        spare = Signal(init=1)
        m.d.sync += spare.eq(spare)
        with m.If(~spare):
            m.d.comb += changed.valid.eq(0)
        return m

    changed.elaborate = elaborate
    assert proved(tmp_path, changed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", [{"full": 1}, {"opposite": True}, {"late": 3}, {"late": 30}, {"word": 5}], ids=str
)
def test_what_differs_at_the_start_or_later_is_not(tmp_path, change):
    # The last one's word is not seen before it is loaded, but by what is outside of its module.
    assert not proved(tmp_path, Held(**change))


def test_netlists_with_other_modules_are_not_compared():
    assert different(to_rtlil(Held(), "top"), to_rtlil(Held(), "other")) is None

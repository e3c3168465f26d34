"""Requantizers side by side behind one wide stream: a bench then spends Python time per row."""

from amaranth.hdl import Cat, Module, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from eightfold.hw.requantizer import REQUANTIZER_INPUT, Requantizer
from eightfold.target.config import AcceleratorConfig


class RequantizerBank(wiring.Component):
    """So many independent requantizers whose streams transfer together, their words as arrays."""

    i: stream.Interface
    o: stream.Interface

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        super().__init__(
            {
                "i": In(stream.Signature(data.ArrayLayout(REQUANTIZER_INPUT, lanes))),
                "o": Out(stream.Signature(data.ArrayLayout(signed(8), lanes))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        units = [Requantizer(AcceleratorConfig()) for _ in range(self.lanes)]
        m.d.comb += [
            self.i.ready.eq(Cat(unit.i.ready for unit in units).all()),
            self.o.valid.eq(Cat(unit.o.valid for unit in units).all()),
        ]
        for lane, unit in enumerate(units):
            m.submodules[f"lane{lane}"] = unit
            m.d.comb += [
                Value.cast(unit.i.payload).eq(Value.cast(self.i.payload[lane])),
                unit.i.valid.eq(self.i.valid & self.i.ready),
                self.o.payload[lane].eq(unit.o.payload),
                unit.o.ready.eq(self.o.valid & self.o.ready),
            ]
        return m

"""The lane array datapath: everything that computes, without the engines that feed it."""

from amaranth.hdl import Module, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from eightfold.config import AcceleratorConfig
from eightfold.hw.array.mac_array import MacArray
from eightfold.hw.table import ByteTable
from eightfold.isa.streams import (
    TABLE_LOAD_LAYOUT,
    activation_layout,
    parameter_layout,
    result_layout,
    weight_layout,
)


class Datapath(wiring.Component):
    """The MAC array, and beside it a table of int8 functions that serves ``width`` bytes at once.

    Timing
    ------
    The two do not depend on each other; see `MacArray` and `ByteTable`.

    Parameters
    ----------
    config
        All of its sizes.

    Members
    -------
    weights, parameters, activations, results
        The streams of `MacArray`.
    table_load : ``In(stream.Signature(TABLE_LOAD_LAYOUT))``
    table_i, table_o : ``In``, ``Out(stream.Signature(ArrayLayout(signed(8), width)))``
        The streams of `ByteTable`.
    """

    weights: stream.Interface
    parameters: stream.Interface
    activations: stream.Interface
    results: stream.Interface
    table_load: stream.Interface
    table_i: stream.Interface
    table_o: stream.Interface

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        vector = data.ArrayLayout(signed(8), config.width)
        super().__init__(
            {
                "weights": In(stream.Signature(weight_layout(config))),
                "parameters": In(stream.Signature(parameter_layout())),
                "activations": In(stream.Signature(activation_layout(config))),
                "results": Out(stream.Signature(result_layout(config))),
                "table_load": In(stream.Signature(TABLE_LOAD_LAYOUT)),
                "table_i": In(stream.Signature(vector)),
                "table_o": Out(stream.Signature(vector)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.mac_array = array = MacArray(self.config)
        m.submodules.table = table = ByteTable(self.config)
        connect(m, flipped(self.weights), array.weights)
        connect(m, flipped(self.parameters), array.parameters)
        connect(m, flipped(self.activations), array.activations)
        connect(m, array.results, flipped(self.results))
        connect(m, flipped(self.table_load), table.load)
        connect(m, flipped(self.table_i), table.i)
        connect(m, table.o, flipped(self.table_o))
        return m

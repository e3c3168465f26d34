"""Bench of the whole datapath: the MAC array and the table at work at the same time.

Parameters: ``config``, the fields of an `AcceleratorConfig`; ``passes``, the length of the random
programs; ``vectors``, the number of table lookups per table.
"""

from typing import Any

import cocotb
import numpy as np
from numpy.typing import NDArray

from eightfold.isa.packing import pack
from eightfold.isa.streams import TABLE_LOAD_LAYOUT
from eightfold.sim.bench.stream import StreamSink, StreamSource
from eightfold.sim.bench.support import parameters, rng
from eightfold.sim.benches.mac_array import ArrayBench, configuration, words_of
from eightfold.sim.stimuli.beats import random_program


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.3])
async def random_programs_and_lookups(dut: Any, stall: float) -> None:
    """Both answer as if they were alone, every table function included."""
    config, generator = configuration(), rng(int(10 * stall))
    bench = ArrayBench(dut, config, [stall] * 4)
    load = StreamSource(dut, "table_load", idle=stall)
    lookups = StreamSource(dut, "table_i", idle=stall)
    found = StreamSink(dut, "table_o", stall=stall)
    tables = [generator.integers(-128, 128, 256) for _ in range(2)]
    vectors = _vectors(generator, parameters()["vectors"], config.width)
    expected = [word for table in tables for word in words_of(table.astype(np.int8)[vectors & 255])]
    bench.scoreboard.expect(found, expected)
    await bench.start(random_program(config, generator, parameters()["passes"]))
    for table in tables:
        # A lookup sees what was loaded before it was accepted, so the two take turns.
        await load.send(pack(TABLE_LOAD_LAYOUT, {"index": np.arange(256), "value": table}))
        await lookups.send(words_of(vectors.astype(np.int8)))
    await bench.scoreboard.finish()


def _vectors(generator: np.random.Generator, count: int, width: int) -> NDArray:
    """Return random int8 vectors, after some that together hold every byte."""
    every = np.resize(np.arange(-128, 128), (-(-256 // width), width))
    return np.concatenate([every, generator.integers(-128, 128, (count, width))])

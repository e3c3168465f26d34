"""Digits on a SoC without a processor: a host loads and runs it over the pins of a UART.

    python -m examples.litex.hosted [MEMORY] [PRESET]

The SoC is simulated; on a board, its platform, clock and PHY take the place of the simulated ones.
"""

import sys
from collections.abc import Iterator

import numpy as np

from eightfold.boards.host import Loaded
from eightfold.boards.simulation import hosted, simulated_board
from eightfold.compiler import compile_network
from eightfold.operators import load_int8
from eightfold.sim.simulator.sources import Unit
from eightfold.target.config import PRESETS
from examples.digits import images
from examples.digits.network import MODEL_FILE, TEST_FILE


def run(name: str, preset: str, count: int) -> Iterator[tuple[np.ndarray, int]]:
    """Yield the codes of digits for images of the test set, and the cycles that they took."""
    config = PRESETS[preset]
    graph = load_int8(MODEL_FILE.read_bytes())
    (compiled,) = compile_network(graph, config).streams
    (x,), (y,) = graph.inputs, graph.outputs
    soc = hosted(name, Unit("accelerator", config).file())
    with simulated_board(soc) as board:
        digits = Loaded(board, compiled, config)
        for image in images.load(TEST_FILE)[0][:count]:
            result = digits.run({x: image}, {y: graph.tensors[y].nbytes})
            yield np.frombuffer(result.outputs[y], np.int8), result.cycles


if __name__ == "__main__":
    chosen = [*sys.argv[1:], *("litedram-sdr-16", "nano")[len(sys.argv) - 1 :]]
    for codes, cycles in run(*chosen[:2], count=3):
        print(f"{codes.argmax()} {codes.tolist()} {cycles} cycles")

"""Runs of a compiled network on a board at a serial port, in place of a simulator."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eightfold.boards.host import Loaded, open_board
from eightfold.compiler import CompiledNetwork
from eightfold.model import Graph
from eightfold.run.simulate import InGolden, NetworkRun


def board_runs(
    port: str,
    baud: int,
    patience: float,
    graph: Graph,
    network: CompiledNetwork,
    batch: Sequence[Mapping[int, np.ndarray]],
    *,
    in_golden: InGolden,
    **_: Any,
) -> list[NetworkRun]:
    """Run a network once for each input, as `eightfold.run.simulate.simulate_network` does.

    The host keeps the state of a network, and writes all inputs before each run: the memory of a
    board holds one stream at a time. Cycles of operators are not known. Raises `InputError` as
    `open_board` and `Loaded`. Raises `HardwareError` as `Loaded.run`.
    """
    runs: list[NetworkRun] = []
    with open_board(port, baud, patience) as board:
        loaded: tuple[object, Loaded] | None = None
        for inputs in batch:
            state = graph.next_state(runs[-1].tensors) if runs else {}
            run = NetworkRun(tensors={**graph.initial_state(), **inputs, **state})
            for segment in network.segments:
                stream = segment.compiled
                if stream is None:
                    run.tensors = in_golden(run.tensors, segment.operators)
                    continue
                if loaded is None or loaded[0] is not stream:
                    loaded = stream, Loaded(board, stream, stream.config)
                given = {tensor: run.tensors[tensor] for tensor in stream.inputs}
                sizes = {tensor: graph.tensors[tensor].nbytes for tensor in stream.outputs}
                result = loaded[1].run(given, sizes)
                run.cycles += result.cycles
                for tensor, found in result.outputs.items():
                    kind = graph.tensors[tensor]
                    run.tensors[tensor] = np.frombuffer(found, kind.dtype).reshape(kind.shape)
            runs.append(run)
            told = run.cycles, 1e3 * run.cycles / board.clock, board.clock / 1e6
            logging.getLogger(__name__).warning(
                "eightfold: %s", "board: {:,} cycles, {:.3f} ms at {:g} MHz".format(*told)
            )
    return runs

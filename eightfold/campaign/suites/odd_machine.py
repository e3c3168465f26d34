"""Commands compiled for a configuration that nobody would choose, on the accelerator's model."""

from dataclasses import replace

import numpy as np

from eightfold.campaign.records import Evidence
from eightfold.campaign.suites.suite import Tensors, compare
from eightfold.compiler import compile_network
from eightfold.config import AcceleratorConfig
from eightfold.golden.quantization import Reference
from eightfold.hostile.stream import run_compiled
from eightfold.model import Graph

LANES = (1, 2, 3, 5, 7, 8, 12, 17, 33, 64)
"""Lanes and widths that are drawn; a width has two multiplications at least."""


def differs_on_machine(
    graph: Graph, values: Tensors, seed: int, reference: Reference
) -> tuple[str, Evidence] | None:
    """Return what commands for a random configuration compute otherwise than golden; None: nothing.

    Parameters
    ----------
    graph
        A network; what the configuration does not take of it is left out.
    values
        Golden's tensors, and the inputs.
    seed
        Of the configuration, and of the order in which engines take their turns.

    Returns
    -------
    tuple of str and Evidence, or None
        As `eightfold.campaign.suites.suite.compare`.
    """
    config = random_config(np.random.default_rng([0x0DD, seed]))
    network = compile_network(graph, config, reference, fallback=True, keep=True)
    for segment in network.segments:
        if segment.compiled is None:
            continue
        got = run_compiled(segment.compiled, graph, values, seed=seed)
        names = (f"commands for {config.lanes}x{config.width}", "golden")
        if found := compare(graph, segment.operators, values, got, values, names):
            message, evidence = found
            return message, replace(evidence, log=f"{evidence.log}\n\n{config}".lstrip())
    return None


def random_config(rng: np.random.Generator) -> AcceleratorConfig:
    """Return any legal configuration: odd numbers of lanes, a width, memories apart from it."""

    def power(low: int, high: int) -> int:
        """Return a power of two of a range whose ends are such."""
        return 1 << int(rng.integers(low.bit_length() - 1, high.bit_length()))

    lanes, width = (int(rng.choice(LANES)) for _ in range(2))
    port = power(4, 64)
    config = AcceleratorConfig(
        lanes=lanes,
        width=max(width, 2),
        port=port,
        psum_depth=power(16, 1024),
        parameter_banks=power(2, 64),
        output_depth=power(32, 128),
        scratchpad=power(1 << 14, 1 << 18),
        weight_buffer=power(max(512, 32 * port), 1 << 14),
        line_depth=power(16, 1024),
        vector_lanes=1,
        tables=power(2, 16),
        command_queue=power(64, 256),
    )
    return config.replace(vector_lanes=power(1, config.vector))

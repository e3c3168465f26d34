"""Commands compiled for a configuration that nobody would choose, on the accelerator's model."""

from dataclasses import replace

import numpy as np

from eightfold.campaign.records import Evidence
from eightfold.campaign.suites.odd_configs import random_config
from eightfold.campaign.suites.suite import Tensors, compare
from eightfold.compiler import compile_network
from eightfold.golden.quantization import Reference
from eightfold.hostile.stream import run_compiled
from eightfold.model import Graph


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

"""Commands compiled for a configuration that nobody would choose, on the accelerator's model."""

from dataclasses import replace

import numpy as np

from eightfold.campaign.records import Evidence
from eightfold.campaign.suites.odd_configs import random_config
from eightfold.campaign.suites.suite import Tensors, compare
from eightfold.compiler import compile_network
from eightfold.compiler.passes import Prepared, prepare
from eightfold.compiler.rewrite import rebuild
from eightfold.golden.quantization import Reference
from eightfold.model import Graph
from eightfold.target.config import AcceleratorConfig
from lab.hostile.stream import run_compiled, run_prepared


def differs_on_machine(
    graph: Graph, values: Tensors, seed: int, reference: Reference
) -> tuple[str, Evidence] | None:
    """Return what commands for a random configuration compute otherwise than golden; None: nothing.

    Once of the network as it is, layer by layer if it fits, and once of the network as rewritten.

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
    size = f"{config.lanes}x{config.width}"
    network = compile_network(graph, config, reference, fallback=True, keep=True)
    for segment in network.segments:
        if segment.compiled is None:
            continue
        got = run_compiled(segment.compiled, graph, values, seed=seed)
        names = (f"commands for {size}", "golden")
        if found := compare(graph, segment.operators, values, got, values, names):
            return _of(config, found)
    prepared = prepare(graph, config, reference, fallback=True, keep=seed % 8 < 4)
    got = _rewritten(prepared, values, seed, reference)
    names = (f"rewritten commands for {size}", "golden")
    shown = [o for o in graph.operators if got.keys() >= set(o.outputs)]
    found = compare(graph, shown, values, got, values, names)
    return None if found is None else _of(config, found)


def _rewritten(
    prepared: Prepared, values: Tensors, seed: int, reference: Reference
) -> dict[int, np.ndarray]:
    """Return what a network's streams compute, one after the other; every tensor that was kept."""
    rewritten = prepared.rewritten
    source = rewritten.source
    inputs = {tensor: values[tensor] for tensor in source.inputs}
    known = run_prepared(prepared, inputs, reference, seed)
    computed = {tensor for operator in source.operators for tensor in operator.outputs}
    wanted = computed & {
        *source.outputs,
        *(t for t, h in rewritten.held.items() if h.tensor in known),
    }
    return rebuild(rewritten, known, wanted, reference)


def _of(config: AcceleratorConfig, found: tuple[str, Evidence]) -> tuple[str, Evidence]:
    """Return what was found, with the configuration in its log."""
    message, evidence = found
    return message, replace(evidence, log=f"{evidence.log}\n\n{config}".lstrip())

"""The source's tensors from what was computed of a rewritten graph."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from eightfold.compiler.rewrite.rewritten import Rewritten
from eightfold.execute import run_graph
from eightfold.golden.quantization import Reference
from eightfold.model import Operator


def rebuild(
    rewritten: Rewritten,
    values: Mapping[int, np.ndarray],
    wanted: Collection[int],
    reference: Reference = "litert",
) -> dict[int, np.ndarray]:
    """Return inputs and tensors of the source, by index.

    What the graph has computed is taken as it is; golden computes the rest from it, the operators
    that were rewritten one by one. Channels that were computed replace golden's, so that a
    difference in them stays to be seen.

    Parameters
    ----------
    values
        Inputs and computed tensors of the rewritten graph, by index.
    wanted
        Computed tensors of the source.

    Returns
    -------
    dict
        All of them, but for those that `eightfold.execute.run_graph` leaves out.

    Raises
    ------
    InputError
        From golden.
    """
    source = rewritten.source
    known = {tensor: values[tensor] for tensor in source.inputs}
    parts = {}
    for tensor, held in rewritten.held.items():
        if held.tensor in values and held.channels is None:
            known[tensor] = values[held.tensor]
        elif held.tensor in values:
            parts[tensor] = (held.channels, values[held.tensor])
    for operator in _needed(rewritten, set(wanted) - known.keys(), known):
        found = run_graph(source, known, reference, [operator])
        for tensor in operator.outputs:
            if tensor in known or tensor not in found:
                continue
            known[tensor] = found[tensor]
            if tensor in parts:
                channels, computed = parts[tensor]
                known[tensor] = known[tensor].copy()
                known[tensor][..., channels] = computed
    return {tensor: known[tensor] for tensor in (*source.inputs, *wanted) if tensor in known}


def run_operators(
    rewritten: Rewritten,
    values: Mapping[int, np.ndarray],
    operators: Sequence[Operator],
    reference: Reference = "litert",
) -> dict[int, np.ndarray]:
    """Return ``values`` and what some of the rewritten graph's operators compute, by golden.

    Golden runs the source's operators, and leaves out the channels that the graph does not have.

    Parameters
    ----------
    values
        Inputs and tensors of the rewritten graph that were computed so far, by index.
    """
    results = {tensor for operator in operators for tensor in operator.outputs}
    asked = {source: held for source, held in rewritten.held.items() if held.tensor in results}
    found = rebuild(rewritten, values, asked, reference)
    computed = {
        held.tensor: found[source] if held.channels is None else found[source][..., held.channels]
        for source, held in asked.items()
    }
    return {**values, **computed}


def _needed(rewritten: Rewritten, missing: set[int], known: Collection[int]) -> list[Operator]:
    """Return the operators that golden runs to have what is missing, in order."""
    found = []
    for operator in reversed(rewritten.source.operators):
        if missing & set(operator.outputs):
            found.append(operator)
            tensors = rewritten.source.tensors
            missing |= {t for t in operator.inputs if t >= 0 and tensors[t].data is None}
            missing -= set(known)
    return found[::-1]

"""One random case through golden, of either reference, and through LiteRT."""

import numpy as np

from eightfold.cases.operators import case_rng, random_case
from eightfold.operators import load_model, run_operator
from eightfold.run.reference.oracle import Oracle, deviates, litert_outputs, with_state

Outputs = list[np.ndarray]


def run_case(
    oracle: Oracle, operator: str, seed: int, reference: str = "litert"
) -> tuple[Outputs, Outputs]:
    """Return golden's outputs and LiteRT's outputs of a case."""
    model, inputs = random_case(operator, case_rng(operator, seed))
    graph = load_model(model)
    values = graph.initial_state() | inputs
    if deviates(graph):
        expected = litert_outputs(oracle, graph, graph.operators[0], inputs)
    else:
        every = with_state(graph, oracle.run(model, inputs))
        expected = [every[index] for index in graph.operators[0].outputs]
    return run_operator(graph, graph.operators[0], values, reference), expected


def differ(got: Outputs, expected: Outputs) -> bool:
    """Return whether shapes or elements differ."""
    return any(
        a.shape != b.shape or bool(np.any(a != b)) for a, b in zip(got, expected, strict=True)
    )

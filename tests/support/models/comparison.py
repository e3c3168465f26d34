"""One random case through golden and through LiteRT, and a report if they differ."""

import numpy as np

from eightfold.conformance.models.operators import case_rng, random_case
from eightfold.execute import run_operator
from eightfold.model import Graph, load_model
from eightfold.reference.deviations import deviates, litert_outputs
from eightfold.reference.oracle import Oracle

Outputs = list[np.ndarray]


def run_case(
    oracle: Oracle, operator: str, seed: int, reference: str = "litert"
) -> tuple[Graph, Outputs, Outputs]:
    """Return the model of a case, golden's outputs and LiteRT's outputs."""
    model, inputs = random_case(operator, case_rng(operator, seed))
    graph = load_model(model)
    if deviates(graph):
        expected = litert_outputs(oracle, graph, graph.operators[0], inputs)
    else:
        every = oracle.run(model, inputs)
        expected = [every[index] for index in graph.outputs]
    return graph, run_operator(graph, graph.operators[0], inputs, reference), expected


def differ(got: Outputs, expected: Outputs) -> bool:
    """Return whether shapes or elements differ."""
    return any(
        a.shape != b.shape or bool(np.any(a != b)) for a, b in zip(got, expected, strict=True)
    )


def assert_equals_litert(oracle: Oracle, operator: str, seed: int) -> None:
    """Compare shape, dtype and every element; say how to repeat the case if they differ."""
    try:
        graph, got, expected = run_case(oracle, operator, seed)
    except Exception as error:
        error.add_note(f"{operator}, seed {seed}; repeat: {_command(operator, seed)}")
        raise
    for one, other in zip(got, expected, strict=True):
        if one.dtype == other.dtype and one.shape == other.shape and np.array_equal(one, other):
            continue
        report = _report(graph, operator, seed, one, other)
        assert one.dtype == other.dtype, report
        assert one.shape == other.shape, report
        np.testing.assert_array_equal(one, other, err_msg=report)


def _report(graph: Graph, operator: str, seed: int, got: np.ndarray, expected: np.ndarray) -> str:
    lines = [f"{operator}, seed {seed}"]
    for tensor in graph.tensors:
        quantization = tensor.quantization
        scales = f" scale {quantization.scale.tolist()}" if quantization else ""
        points = f" zero point {quantization.zero_point.tolist()}" if quantization else ""
        small = tensor.data is not None and tensor.data.dtype.kind == "i" and tensor.data.size < 32
        content = f" = {tensor.data.tolist()}" if small and tensor.data is not None else ""
        lines.append(f"{tensor}: {tensor.dtype} {tensor.shape}{scales}{points}{content}")
    lines.append(f"options: {graph.operators[0].options}")
    if got.shape != expected.shape:
        lines.append(f"shapes: golden {got.shape}, LiteRT {expected.shape}")
    elif np.any(got != expected):
        where = tuple(int(i) for i in np.argwhere(got != expected)[0])
        count = np.count_nonzero(got != expected)
        lines.append(
            f"{count} of {got.size} differ, first at {where}: "
            f"golden {got[where]}, LiteRT {expected[where]}"
        )
    lines.append(f"repeat: {_command(operator, seed)}")
    return "\n".join(lines)


def _command(operator: str, seed: int) -> str:
    test = f"tests/golden/test_against_litert.py::test_equals_litert[{operator}-{seed}..{seed}]"
    return f"EIGHTFOLD_SEED={seed} EIGHTFOLD_CASES=1 python -m pytest '{test}'"

"""Run one operator of a graph in numpy, with all its checks; count what it multiplies.

`explain_element` has the arithmetic of one element, in lines of text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

import numpy as np

from eightfold.common.errors import InputError
from eightfold.golden.errors import SpecError, UndefinedError
from eightfold.golden.quantization import Reference
from eightfold.model.graph import Graph, Operator
from eightfold.operators.call import OperatorCall
from eightfold.operators.definition import Element, Index, Without
from eightfold.operators.gate import unsupported
from eightfold.operators.registry import OPERATORS

SUPPORTED: frozenset[str] = frozenset(OPERATORS)
"""Names of the operators that `run_operator` runs."""


class UndefinedResult(InputError):  # noqa: N818 (says what happened)
    """The reference kernels run the operator, but what they compute is no number to agree with."""


@contextmanager
def named_errors(operator: Operator) -> Iterator[None]:
    """Within it, whatever golden raises, or numpy warns of, is one line that names the operator.

    It is an `UndefinedResult` for golden's `UndefinedError`, and an `InputError` for golden's other
    errors, for numbers that leave their type where golden has not provided for it, and where memory
    does not suffice.
    """
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            yield
    except UndefinedError as error:
        raise UndefinedResult(f"{operator}: {error}") from None
    except (SpecError, InputError, ArithmeticError) as error:
        raise InputError(f"{operator}: {error}") from None
    except MemoryError:
        raise InputError(f"{operator}: there is not enough memory; use a smaller model") from None


def require_supported(graph: Graph, operators: Iterable[Operator]) -> None:
    """Check that golden has operators, and runs them with tensors of these element types.

    Raises `InputError` if not: all of which that is so, each with the reason.
    """
    reasons = ((operator, unsupported(graph.tensors, operator)) for operator in operators)
    if unfit := [f"{operator}: {reason}" for operator, reason in reasons if reason]:
        raise InputError("; ".join(unfit))


def run_operator(
    graph: Graph, operator: Operator, values: Mapping[int, np.ndarray], reference: str = "litert"
) -> list[np.ndarray]:
    """Return the outputs of an operator, in its order.

    Raises `InputError` if the operator is not supported, its tensors do not fit, or the reference
    kernels would reject it, abort, or compute what C++ leaves undefined. Names index and operator.

    ``graph``: the graph, from `eightfold.operators.load_model`; constants are taken from it.
    ``operator``: one of its operators, of a name in `SUPPORTED`.
    ``values``: the tensors that are no constants, by index. Shapes come from the arrays, not the
        graph.
    ``reference``: ``litert`` or ``tflm``: whose kernels to equal where they differ.
    """
    if reference not in ("litert", "tflm"):
        raise InputError(f"reference must be litert or tflm, not {reference!r}")
    require_supported(graph, [operator])
    with named_errors(operator):
        call = OperatorCall(graph, operator, values, cast(Reference, reference))
        results = OPERATORS[operator.name].run(call)
    # Copies may be views, and a result without dimensions a scalar.
    return [np.asarray(array, order="C") for array in results]


def count_macs(graph: Graph, operator: Operator) -> int:
    """Return the operator's multiply-accumulates, padding taps included.

    The work that utilisation is measured against: 0 for an operator without weights, and for one
    that golden does not compute.
    """
    definition = OPERATORS.get(operator.name)
    if definition is None or isinstance(definition.macs, Without) or not operator.outputs:
        return 0
    return definition.macs(OperatorCall(graph, operator))


def explain_element(
    graph: Graph,
    operator: Operator,
    values: Mapping[int, np.ndarray],
    output: int,
    index: Sequence[int],
    reference: str = "litert",
) -> list[str]:
    """Return the arithmetic of one element of an operator's output, step by step.

    Raises `InputError` if there is no such element, or as `eightfold.operators.run_operator`.

    ``graph``, ``operator``, ``reference``: as `eightfold.operators.run_operator` takes them.
    ``values``: inputs and golden's tensors by index: at least what the operator reads.
    ``output``: position among ``operator.outputs``.
    ``index``: the element's place in that output.
    Result: lines ``formula = value``, after one that names the element; the last value is the
        element's.
    """
    place = _place(graph, operator, values, output, index)
    title = f"{operator}, output {output}, element {list(place)}:"
    require_supported(graph, [operator])
    with named_errors(operator):
        call = OperatorCall(graph, operator, values, cast(Reference, reference))
        definition = OPERATORS[operator.name]
        return [title, *definition.explain(Element(definition, call, output, place))]


def _place(
    graph: Graph,
    operator: Operator,
    values: Mapping[int, np.ndarray],
    output: int,
    index: Sequence[int],
) -> Index:
    """Return an index as plain integers, which the output must have."""
    if not 0 <= output < len(operator.outputs):
        raise InputError(f"{operator} has {len(operator.outputs)} outputs, none of number {output}")
    tensor = graph.tensors[operator.outputs[output]]
    # Arrays may have other shapes than the graph says, where these are open.
    shape = values[tensor.index].shape if tensor.index in values else tensor.shape
    place = tuple(map(int, index))
    inside = (0 <= at < size for at, size in zip(place, shape, strict=False))
    if len(place) != len(shape) or not all(inside):
        raise InputError(f"{operator}: {tensor} of shape {shape} has no element {list(place)}")
    return place

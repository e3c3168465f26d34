"""What the folder of a case that did not pass says of it: operators, tensors, first difference."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eightfold.common.errors import InputError
from eightfold.common.files import read_arrays
from eightfold.model import Graph, Operator, Quantization, Tensor, read_model
from eightfold.run.reference.oracle import differ

OPERATORS_SHOWN = 3
TENSORS_SHOWN = 24
"""How many tensors of a model are shown at most."""

LOG_LINES = 80
_LINE = 400
"""Lines of a log that are shown, and characters of each."""

_VALUES = 3  # scales or zero points per channel that are written out


@dataclass(frozen=True)
class OperatorFacts:
    """An operator of the model, and its options as the schema names them."""

    index: int
    name: str
    options: dict[str, str]


@dataclass(frozen=True)
class TensorFacts:
    """A tensor of the operators that are shown."""

    index: int
    name: str
    role: str
    dtype: str
    shape: str
    scale: str
    zero_point: str
    differs: bool


class Difference(NamedTuple):
    """How a tensor differs from what was expected.

    ``where`` is the index of the first element that does, in the order of memory; None where the
    shapes or types differ, which ``expected`` and ``got`` say then.
    """

    tensor: int
    where: tuple[int, ...] | None
    expected: str
    got: str
    elements: int = 0
    of: int = 0


@dataclass(kw_only=True)
class Failure:
    """What is known of a case that did not pass.

    Attributes
    ----------
    operators, tensors
        Those of the model that are about the difference; ``operator_count`` is how many it has.
    log, left
        The first lines of the log, and how many more there are.
    files
        What is in the case's folder.
    note
        Why something is not known.
    """

    operators: list[OperatorFacts] = field(default_factory=list)
    operator_count: int = 0
    tensors: list[TensorFacts] = field(default_factory=list)
    tensor_count: int = 0
    differences: list[Difference] = field(default_factory=list)
    log: str = ""
    left: int = 0
    files: list[str] = field(default_factory=list)
    note: str = ""


def read_failure(folder: Path, message: str) -> Failure:
    """Return what the folder of a case says, beside its message.

    A file that is missing or damaged leaves its part out, with a note: a report is made of what
    there is.
    """
    found = Failure(files=sorted(path.name for path in folder.glob("*")))
    try:
        found.differences = differences(
            _tensors(folder / "expected.npz"), _tensors(folder / "got.npz")
        )
        if "model.tflite" in found.files:
            _add_model(found, read_model(folder / "model.tflite"))
    except InputError as error:
        found.note = str(error)
    if "log.txt" in found.files:
        text = (folder / "log.txt").read_text(encoding="utf-8", errors="replace")
        while text.startswith(f"{message}\n"):  # which the page says already
            text = text.removeprefix(message).lstrip("\n")
        lines = text.rstrip().splitlines()
        found.log = "\n".join(line[:_LINE] for line in lines[:LOG_LINES])
        found.left = max(0, len(lines) - LOG_LINES)
    return found


def differences(
    expected: Mapping[int, np.ndarray], got: Mapping[int, np.ndarray]
) -> list[Difference]:
    """Return how the tensors differ that both sides have, in their order."""
    found = []
    for tensor in sorted(set(expected) & set(got)):
        one = expected[tensor]
        other = got[tensor]
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            found.append(Difference(tensor, None, _kind(one), _kind(other)))
            continue
        unequal = differ(one, other)
        if unequal.any():
            place = np.unravel_index(int(np.argmax(unequal)), unequal.shape)
            where, values = tuple(map(int, place)), (str(one[place]), str(other[place]))
            found.append(Difference(tensor, where, *values, int(unequal.sum()), unequal.size))
    return found


def _kind(array: np.ndarray) -> str:
    return f"{array.dtype.name} {_shape(array.shape)}"


def _tensors(path: Path) -> dict[int, np.ndarray]:
    if not path.exists():
        return {}
    arrays = read_arrays(path)
    if any(array.dtype.kind not in "biuf" for array in arrays.values()):
        raise InputError(f"{path.name}: has something else than numbers")
    try:
        return {int(name.removeprefix("tensor_")): array for name, array in arrays.items()}
    except ValueError:
        raise InputError(f"{path.name}: has no names of tensors") from None


def _add_model(found: Failure, graph: Graph) -> None:
    different = {difference.tensor for difference in found.differences}
    # A network's first operator that differs is where its fault is: those behind it inherit it.
    wrong = [o for o in graph.operators if different & set(o.outputs)][:1]
    shown = wrong or list(graph.operators[:OPERATORS_SHOWN])
    found.operators = [OperatorFacts(o.index, o.name, _options(o.options)) for o in shown]
    found.operator_count = len(graph.operators)
    roles = dict(_roles(shown))
    found.tensor_count = len(roles)
    found.tensors = [
        _tensor(graph.tensors[index], role, index in different and role.startswith("output"))
        for index, role in list(roles.items())[:TENSORS_SHOWN]
    ]


def _roles(operators: Iterable[Operator]) -> Iterable[tuple[int, str]]:
    for operator in operators:
        for what, indices in (("input", operator.inputs), ("output", operator.outputs)):
            for number, index in enumerate(indices):
                if index >= 0:
                    yield index, f"{what} {number}"


def _options(options: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
        for name, value in options.items()
    }


def _tensor(tensor: Tensor, role: str, differs: bool) -> TensorFacts:
    if tensor.data is not None:
        role += ", constant"
    kind = tensor.dtype.name, _shape(tensor.shape), *_quantization(tensor.quantization)
    return TensorFacts(tensor.index, tensor.name, role, *kind, differs)


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def _quantization(quantization: Quantization | None) -> tuple[str, str]:
    """Return scale and zero point as texts; values that differ along an axis are counted."""
    if quantization is None:
        return "–", "–"
    scale = [f"{value:.9g}" for value in quantization.scale]  # tells all float32 apart
    zero_point = [str(value) for value in dict.fromkeys(quantization.zero_point.tolist())]
    axis = f" ({len(scale)} along axis {quantization.axis})" if len(scale) > 1 else ""
    return _some(scale) + axis, _some(zero_point)


def _some(values: list[str]) -> str:
    return ", ".join(values[:_VALUES]) + (", ..." if len(values) > _VALUES else "")

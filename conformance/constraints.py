"""What a profile states of single operators: of each feature the values that may occur.

A constraint is one value, a list of values, or a range ``{ from = 8, to = 256, by = 8 }`` of a
feature. Cases are drawn inside of all constraints, and what is drawn is held against them again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eightfold.common.errors import InputError
from eightfold.model.graph import Graph, Operator, Tensor
from eightfold.operators import SPEC_ROWS
from eightfold.operators.rules import Role

Constraints = Mapping[str, Any]
"""By feature what a profile states of it."""

ALL = "all"
"""In place of an operator's name: every operator that has the feature."""

LARGEST = 65_535
"""Above every size that can be claimed."""

POOLS = frozenset({"AVERAGE_POOL_2D", "MAX_POOL_2D"})
CONVOLUTIONS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D"})
WINDOWED = POOLS | CONVOLUTIONS
WEIGHTED = CONVOLUTIONS | {"FULLY_CONNECTED"}
CHANNELED = WINDOWED | WEIGHTED | {"RESIZE_BILINEAR"}
SIZED = frozenset(row.name for row in SPEC_ROWS) - {"FULLY_CONNECTED"}
SEVERAL = frozenset(
    row.name
    for row in SPEC_ROWS
    if row.variadic or (len(row.inputs) > 1 and row.inputs[1].role is Role.DATA)
)


@dataclass(frozen=True)
class Feature:
    """What operators have in common, and profiles limit."""

    operators: frozenset[str]
    of: Callable[[Graph, Operator], Iterable[Any]]
    """Return the values that an operator has; none where every value suits it."""
    pairs: bool = False
    """Whether a value is height and width: ``"3x1"``, or 3 for ``"3x3"``."""
    names: tuple[str, ...] = ()
    """What values can be, where they are no numbers."""
    reach: int = 64
    """Larger values are drawn only where no smaller one is claimed: models are small."""


def _tensors(graph: Graph, operator: Operator) -> Iterator[Tensor]:
    """Yield the activations of an operator, its first result last."""
    for index in (*operator.inputs, operator.outputs[0]):
        tensor = graph.tensors[index] if index >= 0 else None
        if tensor is not None and tensor.data is None and tensor.dtype == np.int8:
            yield tensor


def _input(graph: Graph, operator: Operator, place: int = 0) -> tuple[int, ...]:
    return graph.tensors[operator.inputs[place]].shape


def _kernel(graph: Graph, operator: Operator) -> tuple[int, ...]:
    if operator.name in POOLS:
        return operator.options["filter_height"], operator.options["filter_width"]
    return _input(graph, operator, 1)[1:3]


def _option(*names: str) -> Callable[[Graph, Operator], list[Any]]:
    def read(graph: Graph, operator: Operator) -> list[Any]:
        values = [operator.options[name] for name in names]
        return [tuple(values)] if len(values) > 1 else values

    return read


def _batch(graph: Graph, operator: Operator) -> list[int]:
    shape = _input(graph, operator)
    if operator.name == "FULLY_CONNECTED":
        return [int(np.prod(graph.tensors[operator.outputs[0]].shape[:-1]))]
    return [shape[0]]


def _sizes(graph: Graph, operator: Operator) -> Iterator[int]:
    for tensor in _tensors(graph, operator):
        yield from tensor.shape[1:3] if operator.name in CHANNELED else tensor.shape


def _weights(graph: Graph, operator: Operator) -> list[str]:
    weights = graph.tensors[operator.inputs[1]]
    channels = weights.shape[3 if operator.name == "DEPTHWISE_CONV_2D" else 0]
    if channels == 1 or weights.quantization is None:
        return []  # it is both
    return ["per-axis" if weights.quantization.scale.size > 1 else "per-tensor"]


def _operands(graph: Graph, operator: Operator) -> Iterator[str]:
    for index in operator.inputs[1:]:
        if index >= 0:
            yield "computed" if graph.tensors[index].data is None else "constant"


FEATURES: dict[str, Feature] = {
    "kernel": Feature(WINDOWED, lambda g, o: [_kernel(g, o)], pairs=True, reach=5),
    "stride": Feature(WINDOWED, _option("stride_h", "stride_w"), pairs=True, reach=4),
    "dilation": Feature(
        CONVOLUTIONS, _option("dilation_h_factor", "dilation_w_factor"), pairs=True, reach=3
    ),
    "groups": Feature(
        frozenset({"CONV_2D"}), lambda g, o: [_input(g, o)[3] // _input(g, o, 1)[3]], reach=8
    ),
    "depth_multiplier": Feature(
        frozenset({"DEPTHWISE_CONV_2D"}),
        lambda g, o: [_input(g, o, 1)[3] // _input(g, o)[3]],
        reach=8,
    ),
    "padding": Feature(WINDOWED, _option("padding"), names=("SAME", "VALID")),
    "batch": Feature(CHANNELED, _batch, reach=8),
    "input_channels": Feature(CHANNELED, lambda g, o: [_input(g, o)[-1]]),
    "output_channels": Feature(WEIGHTED, lambda g, o: [g.tensors[o.outputs[0]].shape[-1]]),
    "size": Feature(SIZED, _sizes, reach=16),
    "activation": Feature(
        WINDOWED | {"FULLY_CONNECTED", "ADD", "SUB", "MUL"},
        _option("fused_activation_function"),
        names=("NONE", "RELU", "RELU6", "RELU_N1_TO_1"),
    ),
    "weights": Feature(WEIGHTED, _weights, names=("per-axis", "per-tensor")),
    "operands": Feature(SEVERAL, _operands, names=("constant", "computed")),
}
"""By the name that profiles use."""

ORDINARY: Mapping[str, tuple[Any, ...]] = {
    "kernel": ((1, 1), (2, 2), (3, 3)),
    "stride": ((1, 1), (2, 2)),
    "dilation": ((1, 1),),
    "groups": (1,),
}
"""What most hardware computes: a fourth of the models of an operator with a window."""


def check_constraints(tables: object, claims: Sequence[str]) -> None:
    """Check what a profile states of operators: ``{"CONV_2D": {"kernel": 3}}``. Raises InputError
    with every unknown operator, feature and value that there is."""
    if not isinstance(tables, Mapping):
        raise InputError(f"operators must be a table of tables, not {tables!r}")
    faults: list[str] = []
    for operator, stated in tables.items():
        where = f"operators.{operator}"
        known = [n for n, each in FEATURES.items() if operator in each.operators | {ALL}]
        if operator not in (ALL, *claims):
            faults.append(f"{where}: is not claimed; add it to claims, or leave it out")
        elif not isinstance(stated, Mapping):
            faults.append(f"{where} must be a table of features, not {stated!r}")
        else:
            for feature, value in stated.items():
                if feature not in known:
                    faults.append(f"{where}: unknown field {feature}; known: {', '.join(known)}")
                elif fault := _fault(FEATURES[feature], value):
                    faults.append(f"{where}.{feature} {fault}, not {_text(value)}")
    if faults:
        raise InputError("; ".join(faults))


def _fault(feature: Feature, stated: Any) -> str:
    """Return what a constraint must be, if it is something else."""
    if isinstance(stated, Mapping):
        bounds = [stated.get("from", 1), stated.get("to", LARGEST), stated.get("by", 1)]
        sound = not feature.names and stated.keys() <= {"from", "to", "by"}
        sound &= all(type(each) is int and 1 <= each <= LARGEST for each in bounds)
        if sound and not _values(feature, stated):
            return "must have a value in its range"
        return "" if sound else "must be a range such as { from = 8, to = 256, by = 8 }"
    values = stated if isinstance(stated, tuple) else (stated,)
    if feature.names:
        wrong = not values or any(value not in feature.names for value in values)
        return f"must be of {', '.join(feature.names)}" if wrong else ""
    pair = 'or pairs such as "3x1" ' if feature.pairs else ""
    if not values or any(_number(feature, value) is None for value in values):
        return f"must be integers {pair}in 1..{LARGEST}, a list of them, or a range"
    return ""


def _number(feature: Feature, value: Any) -> Any:
    """Return a value as operators have it; None if it is none."""
    if feature.pairs and isinstance(value, str):
        parts = value.split("x")
        pair = [int(part) for part in parts if part.isdecimal()]
        sound = len(pair) == len(parts) == 2 and all(1 <= each <= LARGEST for each in pair)
        return tuple(pair) if sound else None
    if type(value) is not int or not 1 <= value <= LARGEST:
        return None
    return (value, value) if feature.pairs else value


def _values(feature: Feature, stated: Any, most: int = 0) -> list[Any]:
    """Return the values that a sound constraint has, of a range at most up to ``most``."""
    if not isinstance(stated, Mapping):
        values = stated if isinstance(stated, tuple) else (stated,)
        return list(values) if feature.names else [_number(feature, value) for value in values]
    first, by = stated.get("from", 1), stated.get("by", 1)
    first += -first % by  # multiples
    last = stated.get("to", LARGEST)
    single = range(first, min(last, max(most, first)) + 1, by)
    return [(h, w) for h in single for w in single] if feature.pairs else list(single)


def constraints_of(operator: str, tables: Mapping[str, Constraints]) -> dict[str, Any]:
    """Return what is stated of an operator: of it alone, or of all."""
    both = {**tables.get(ALL, {}), **tables.get(operator, {})}
    return {name: value for name, value in both.items() if operator in FEATURES[name].operators}


def drawn_values(stated: Constraints) -> dict[str, tuple[Any, ...]]:
    """Return by feature the values that models are drawn with: all small ones, else the least."""
    drawn = {}
    for name, value in stated.items():
        feature = FEATURES[name]
        values = sorted(set(_values(feature, value, feature.reach)))
        small = [v for v in values if feature.names or np.max(v) <= feature.reach]
        drawn[name] = tuple(small or values[:1])
    return drawn


def ordinary(operator: str, drawn: Mapping[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Return `drawn_values` of which the features of `ORDINARY` have no others, where they can."""
    found = dict(drawn)
    for name, usual in ORDINARY.items():
        if operator in FEATURES[name].operators:
            claimed = tuple(each for each in usual if each in drawn.get(name, usual))
            found[name] = claimed or drawn[name]
    return found


def keeps(graph: Graph, operator: Operator, stated: Constraints) -> bool:
    """Return whether an operator keeps to its constraints."""
    for name, constraint in stated.items():
        feature = FEATURES[name]
        for value in feature.of(graph, operator):
            most = int(np.max(value)) if not feature.names else 0
            if value not in _values(feature, constraint, most):
                return False
    return True


def constraints_text(tables: Mapping[str, Constraints]) -> str:
    """Return the constraints in words; operators of which the same is stated are told together."""
    alike: dict[str, list[str]] = {}
    for operator, stated in tables.items():
        text = ", ".join(f"{name} {_text(value)}" for name, value in stated.items())
        alike.setdefault(text, []).append(operator)
    return "; ".join(f"{', '.join(operators)}: {text}" for text, operators in alike.items() if text)


def _text(stated: Any) -> str:
    if isinstance(stated, Mapping):
        by = f" by {stated['by']}" if "by" in stated else ""
        return f"{stated.get('from', 1)}..{stated.get('to', '')}{by}"
    return f"[{', '.join(map(str, stated))}]" if isinstance(stated, tuple) else str(stated)

"""A run's inputs: drawn, or given by index or name, and checked against the model."""

import operator
import re
from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

from eightfold.common.errors import InputError
from eightfold.model import Graph

Inputs = Mapping[int | str, np.ndarray] | Mapping[int, np.ndarray] | Mapping[str, np.ndarray]
"""Arrays by the tensor's index, as ``tensor_<index>``, or by the tensor's name."""

_BY_INDEX = re.compile(r"tensor_(\d+)", re.ASCII)

_RANGES = {np.dtype(np.int8): (-128, 128), np.dtype(np.uint8): (0, 256), np.dtype(np.bool_): (0, 2)}


def whole(noun: str, value: Any, least: int) -> int:
    """Return a number as int; raise `InputError` if it is not whole, or below ``least``."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise InputError(f"{noun} must be a whole number, {least} or more, not {value!r}")
    return number


def random_inputs(graph: Graph, seed: int) -> dict[int, np.ndarray]:
    """Draw int8, uint8 and bool from all values, float32 from [-8, 8); refuse inputs of others."""
    rng = np.random.default_rng(seed)
    inputs = {}
    for index in graph.inputs:
        tensor = graph.tensors[index]
        if tensor.dtype == np.float32:
            inputs[index] = rng.uniform(-8, 8, tensor.shape).astype(np.float32)
            continue
        if tensor.dtype not in _RANGES:
            raise InputError(
                f"input tensor {index} ({tensor.name}) is {tensor.dtype}, not int8, uint8, bool or "
                f"float32; give its values with --input"
            )
        inputs[index] = rng.integers(*_RANGES[tensor.dtype], tensor.shape, dtype=tensor.dtype.type)
    return inputs


def resolve_inputs(graph: Graph, given: Inputs) -> dict[int, np.ndarray]:
    """Return the arrays by tensor index, one for each input of the graph.

    ``tensor_<index>`` means the tensor of that index where it is an input, whatever the names.
    Raises `InputError` if an input is missing, unknown, given twice, or of another shape or dtype;
    the message lists the inputs expected.
    """
    return _checked(graph, _arrays(graph, given))


def _checked(graph: Graph, inputs: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
    """Return arrays whose shapes and types are the inputs'."""
    for index, array in inputs.items():
        tensor = graph.tensors[index]
        if array.shape != tensor.shape or array.dtype != tensor.dtype:
            raise InputError(
                f"input {_shown(graph, index)} must be {tensor.dtype} of shape "
                f"{tensor.shape}, not {array.dtype} of shape {array.shape}"
            )
    return inputs


def frames_of(graph: Graph, given: Inputs, count: int) -> list[dict[int, np.ndarray]]:
    """Return what `resolve_inputs` does for each of ``count`` frames, the first axis of each array.

    Raises `InputError` as `resolve_inputs`; or if an array has not as many frames.
    """
    arrays = _arrays(graph, given)
    for index, array in arrays.items():
        if array.shape[:1] != (count,):
            raise InputError(
                f"input {_shown(graph, index)} of shape {array.shape} must have {count} frames "
                "along its first axis"
            )
    frames = [{index: array[n] for index, array in arrays.items()} for n in range(count)]
    return [_checked(graph, frame) for frame in frames]


def _arrays(graph: Graph, given: Inputs) -> dict[int, np.ndarray]:
    """Return the array for each input, by its tensor's index; none is missing."""
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise InputError(f"inputs must be a dict of arrays, not {kind}; {_expected(graph)}")
    inputs: dict[int, np.ndarray] = {}
    for key, array in given.items():
        index = _index(graph, key)
        if index in inputs:
            raise InputError(f"input {_shown(graph, index)} is given twice")
        if not isinstance(array, np.ndarray | np.generic):
            kind, dtype = type(array).__name__, graph.tensors[index].dtype
            raise InputError(
                f"input {_shown(graph, index)} must be an array of {dtype}, not {kind}"
            )
        inputs[index] = array
    if missing := [index for index in graph.inputs if index not in inputs]:
        raise InputError(f"no input {_shown(graph, missing[0])}; {_expected(graph)}")
    return inputs


def _index(graph: Graph, key: object) -> int:
    """Return the index of the input that a key names."""
    if isinstance(key, Integral):
        found = [int(key)] if key in graph.inputs else []
        shown = f"tensor {key}"
    else:
        by_index = _BY_INDEX.fullmatch(key) if isinstance(key, str) else None
        found = [int(by_index[1])] if by_index and int(by_index[1]) in graph.inputs else []
        found = found or [index for index in graph.inputs if graph.tensors[index].name == key]
        shown = f"array {key!r}"
    if not found:
        raise InputError(f"{shown} is no input of the model; {_expected(graph)}")
    if len(found) > 1:
        raise InputError(f"{shown} names several inputs of the model; {_expected(graph)}")
    return found[0]


def _expected(graph: Graph) -> str:
    return f"expected: {', '.join(_shown(graph, index) for index in graph.inputs)}"


def _shown(graph: Graph, index: int) -> str:
    """Return both names of an input."""
    label = f"tensor_{index}"
    name = graph.tensors[index].name
    return label if name == label else f"{label} or {name!r}"

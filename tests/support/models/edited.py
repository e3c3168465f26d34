"""A small sound model, and what becomes of it when its file is changed in one way."""

from collections.abc import Callable
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as generated

from eightfold.model.builder import ModelBuilder
from eightfold.model.writer import Table

Edit = Callable[[Any], object]
"""Changes a model as LiteRT's schema unpacks it, or as `eightfold.model.writer` does."""


def convolved() -> bytes:
    """Return a model of tensors 0 input, 1 weights, 2 bias, 3 convolved, 4 output."""
    b = ModelBuilder()
    x = b.input((1, 4, 4, 2), scale=0.5)
    w = b.constant(np.ones((3, 1, 1, 2), np.int8), scale=[0.5, 0.25, 1.0])
    c = b.constant(np.zeros(3, np.int32), scale=[0.25, 0.125, 0.5])
    y = b.tensor((1, 4, 4, 3), scale=0.5)
    b.operator("CONV_2D", [x, w, c], [y], {"stride_w": 1, "stride_h": 1})
    z = b.tensor((1, 4, 4, 3), scale=0.25)
    b.operator("RELU", [y], [z])
    b.output(z)
    return b.build()


def edited(*edits: Edit) -> bytes:
    """Return `convolved` after all edits, in their order."""
    model = generated.ModelT.InitFromPackedBuf(convolved())
    for edit in edits:
        edit(model)
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def put(*path: str | int, **fields: Any) -> Edit:
    """Return the edit that sets fields of the part to which names and numbers lead."""

    def edit(part: Any) -> None:
        for step in path:
            part = part[step] if isinstance(step, int) else _fields(part)[step]
        _fields(part).update(fields)

    return edit


def _fields(part: Any) -> dict[str, Any]:
    return part.fields if isinstance(part, Table) else vars(part)


def each(*edits: Edit) -> Edit:
    """Return all edits as one."""
    return lambda model: [edit(model) for edit in edits]


def with_buffer(subgraph: int, index: int, **fields: Any) -> Edit:
    """Return the edit that gives a tensor a buffer of its own."""

    def edit(model: Any) -> None:
        model.buffers.append(generated.BufferT())
        vars(model.buffers[-1]).update({"data": None, **fields})
        put("subgraphs", subgraph, "tensors", index, buffer=len(model.buffers) - 1)(model)

    return edit


def ints(*values: int) -> np.ndarray:
    """Return int32, as shapes and operands are."""
    return np.array(values, np.int32)

"""A small sound model, and what becomes of it when its file is changed in one way."""

from collections.abc import Callable
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as generated

from eightfold.model.builder import ModelBuilder

Edit = Callable[[Any], object]
"""Changes a model as LiteRT's schema unpacks it."""


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

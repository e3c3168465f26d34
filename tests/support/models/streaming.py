"""A small network that keeps past rows, as keyword spotting in streams does."""

import numpy as np

from eightfold.model.builder import ModelBuilder

PAST, NEW, CHANNELS = 3, 2, 4
QUANTIZED = {"scale": 0.5, "zero_point": -3}


def streaming(seed: int = 0) -> bytes:
    """Return a model: past rows before the input's, a dense layer of both; the last rows stay."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder("streaming")
    x = builder.input((1, NEW, CHANNELS), **QUANTIZED)
    shape = (1, PAST, CHANNELS)
    past = builder.variable(np.full(shape, -3, np.int8), name="past", **QUANTIZED)
    before = builder.tensor(shape, **QUANTIZED)
    builder.operator("READ_VARIABLE", [past], [before])
    rows = builder.tensor((1, PAST + NEW, CHANNELS), **QUANTIZED)
    builder.operator("CONCATENATION", [before, x], [rows], {"axis": 1})
    bounds = [builder.constant(np.array(b, np.int32)) for b in ([0, NEW, 0], [0] * 3, [1] * 3)]
    last = builder.tensor(shape, **QUANTIZED)
    builder.operator(
        "STRIDED_SLICE", [rows, *bounds], [last], {"begin_mask": 0b101, "end_mask": 0b111}
    )
    builder.operator("ASSIGN_VARIABLE", [past, last], [])
    codes = rng.integers(-127, 128, (5, (PAST + NEW) * CHANNELS), np.int8)
    weights = builder.constant(codes, scale=0.01)
    bias = builder.constant(np.arange(5, dtype=np.int32), scale=0.005)
    result = builder.tensor((1, 5), scale=0.3, zero_point=4)
    builder.operator("FULLY_CONNECTED", [rows, weights, bias], [result], {})
    builder.output(result)
    return builder.build()

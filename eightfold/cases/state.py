"""Operators with state between inferences: variables, and SVDF and LSTM of golden alone."""

from functools import partial

import numpy as np

from eightfold.cases import draws
from eightfold.cases.builder import Value
from eightfold.cases.movement import CopyModel
from eightfold.golden.recurrent import GATES


def _bias(rng: draws.Random, size: int) -> np.ndarray:
    most = 2 ** int(rng.choice([6, 10, 14, 31]))
    return rng.integers(-most, most, size).astype(np.int32)


def svdf_case(rng: draws.Random, dtype: type[np.int8 | np.int16] = np.int16) -> draws.Case:
    """Return an SVDF whose time weights and state are of ``dtype``; LiteRT computes int16."""
    model = draws.SingleOperator(rng)
    batches, size, units, rank, memory = rng.integers(1, [4, 9, 6, 4, 9]).tolist()
    filters = units * rank
    s_in, s_feature, s_time = model.scale(), model.scale(0.01), model.scale(0.01)
    # State that saturates, fills its range, or has few codes; results that spread over int8.
    limits = np.iinfo(dtype)
    reach = limits.max / 2.0 ** int(rng.integers(-1, 7))
    s_state = model.scale(s_in * s_feature * np.sqrt(size) * 2.0**12 / reach)
    sums = min(reach, limits.max) * limits.max * np.sqrt(rank * memory)
    s_out = model.scale(s_state * s_time * sums / 2.0 ** rng.uniform(5, 9))
    codes = draws.random_codes(rng, [batches, size])
    source = model.operand(codes, s_in, draws.random_zero_point(rng))
    time = rng.integers(limits.min, limits.max, (filters, memory), endpoint=True)
    if rng.integers(4) == 0:
        time = rng.choice([limits.min, limits.max], time.shape)
    # Kernels do not expect a zero point of int16.
    zero_point = (
        draws.random_zero_point(rng) if dtype is np.int8 else int(rng.choice([0, 100, -32768]))
    )
    shape = batches, filters * memory
    operands = [
        source,
        model.constant(draws.random_codes(rng, [filters, size]), scale=s_feature),
        model.constant(time.astype(dtype), scale=s_time),
        model.constant(_bias(rng, units), scale=np.float32(s_state) * np.float32(s_time)),
        model.tensor(shape, scale=s_state, zero_point=zero_point, dtype=dtype, variable=True),
    ]
    result = model.tensor((batches, units), scale=s_out, zero_point=draws.random_zero_point(rng))
    model.operator("SVDF", operands, [result], {"rank": rank, "fused_activation_function": "RELU"})
    model.output(result)
    return model.build(), model.inputs


def _lstm(rng: draws.Random) -> draws.Case:
    model = draws.SingleOperator(rng)
    batches, steps, size, units = rng.integers(1, [4, 6, 9, 9]).tolist()
    time_major = bool(rng.integers(2))
    leading = (steps, batches) if time_major else (batches, steps)
    s_in = model.scale()
    hidden = {"scale": model.scale(2.0**-7), "zero_point": draws.random_zero_point(rng)}
    inputs = draws.random_codes(rng, [*leading, size])
    source = model.operand(inputs, s_in, draws.random_zero_point(rng))
    weights = []
    # Sums in Q3.12 from a fraction of 1 to beyond 8, and ties where a scale is a power of two.
    for scale, length in ((s_in, size), (hidden["scale"], units)):
        for _ in GATES:
            near = 2.0 ** rng.uniform(-3, 4) / (scale * 2.0**13 * np.sqrt(length))
            codes = draws.random_codes(rng, [units, length])
            weights.append(model.constant(codes, scale=model.scale(near, 1.0)))
    biases = [model.constant(_bias(rng, units)) for _ in GATES]
    cell_scale = 2.0 ** int(rng.integers(-15, -9, endpoint=True))
    state = [
        model.tensor((batches, units), **hidden, variable=True),
        model.tensor((batches, units), scale=cell_scale, dtype=np.int16, variable=True),
    ]
    # LiteRT has another quantization here, which mostly is the same.
    other = {"scale": model.scale(2.0**-7), "zero_point": draws.random_zero_point(rng)}
    other = hidden if rng.integers(2) else other
    between = [model.tensor((0,), dtype=np.float32) for _ in GATES]
    between.append(model.tensor((0,), **other))
    result = model.tensor((*leading, units), **other)
    clip = float(rng.choice([0, 0, 1e6, 1.0, 10.0, cell_scale / 2]))
    model.operator(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        [source, *weights, -1, -1, -1, *biases, -1, -1, *state, -1, -1, -1, -1],
        [result],
        {"fused_activation_function": "TANH", "cell_clip": clip, "time_major": time_major},
        intermediates=between,
    )
    model.output(result)
    return model.build(), model.inputs


_READ, _ASSIGN = "READ_VARIABLE", "ASSIGN_VARIABLE"


def _variable(subject: str, rng: draws.Random) -> draws.Case:
    """Return a model that reads a variable, or that assigns it."""
    model = CopyModel(rng)
    shape = draws.random_shape(rng, (0, 1, 2, 3, 4, 5))
    scale, zero_point = model.pair
    handle = model.variable(draws.random_codes(rng, shape), scale=scale, zero_point=zero_point)
    model.other_pair()
    if subject == _READ:
        return model.copy(_READ, [handle])
    value = model.source(shape)[1]
    model.operator(_ASSIGN, [handle, value], [])
    model.output(value)
    return model.build(), model.inputs


def _extend_stream(net: draws.GrowingNetwork) -> None:
    """Add what streaming networks do: rows kept from the inference before, in front of new ones."""
    if not net.operators >= {_READ, _ASSIGN, "CONCATENATION", "STRIDED_SLICE"}:
        raise draws.UnsuitableError
    x = net.pick(lambda value: 1 <= len(value.shape) <= 4)
    axis = int(net.rng.integers(len(x.shape)))
    past = list(x.shape)
    past[axis] = int(net.rng.integers(1, 6))
    handle, before = _read(net, x, past)
    joined = net.add("CONCATENATION", [before, x], x, {"axis": axis})
    begin = [0] * len(past)
    begin[axis] = x.shape[axis]
    bounds = [net.integers(part) for part in (begin, [0] * len(past), [1] * len(past))]
    masks = {"begin_mask": ((1 << len(past)) - 1) & ~(1 << axis), "end_mask": (1 << len(past)) - 1}
    net.assign(handle, net.add("STRIDED_SLICE", [joined, *bounds], x, masks))


def _extend_delay(net: draws.GrowingNetwork) -> None:
    """Add a result of the inference before, and keep one of this, in either order."""
    if not net.operators >= {_READ, _ASSIGN}:
        raise draws.UnsuitableError
    x = net.pick(lambda value: len(value.shape) <= 5)
    if net.rng.integers(4):
        handle, _ = _read(net, x, x.shape)
        net.assign(handle, x)
        return
    handle = _handle(net, x, x.shape)
    net.assign(handle, x)
    net.add(_READ, [handle], x)


def _handle(net: draws.GrowingNetwork, like: Value, shape: tuple[int, ...] | list[int]) -> int:
    codes: np.ndarray = draws.random_codes(net.rng, shape)
    return net.variable(codes, scale=like.scale, zero_point=like.zero_point)


def _read(
    net: draws.GrowingNetwork, like: Value, shape: tuple[int, ...] | list[int]
) -> tuple[int, Value]:
    """Add a variable, and return its handle and what it holds."""
    handle = _handle(net, like, shape)
    return handle, net.add(_READ, [handle], like)


STATE: dict[str, draws.Maker] = {
    _ASSIGN: draws.Maker(partial(_variable, _ASSIGN), _extend_delay),
    _READ: draws.Maker(partial(_variable, _READ), _extend_stream),
    "SVDF": draws.Maker(svdf_case, None),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": draws.Maker(_lstm, None),
}
"""By the operator's name."""

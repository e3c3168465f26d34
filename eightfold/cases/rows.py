"""Operators over rows and axes: SOFTMAX and its kin, reductions, indices of extremes."""

from functools import partial
from math import prod

import numpy as np

from eightfold.cases.draws import (
    Case,
    GrowingNetwork,
    Maker,
    Random,
    SingleOperator,
    choose,
    has_axes,
    makers,
    random_codes,
    random_shape,
    random_truths,
    random_zero_point,
)

TRUTHS = ("REDUCE_ALL", "REDUCE_ANY")
"""Reductions of truth values."""


def _rows(rng: Random) -> np.ndarray:
    shape = [*random_shape(rng, (0, 1, 1, 2, 2, 3), 16), choose(rng, 1, 2, 3, 10, 100, 400)]
    while len(shape) > 3 and np.prod(shape) > 2**16:
        del shape[0]
    return random_codes(rng, shape)


def _exponentials(name: str, rng: Random) -> Case:
    model = SingleOperator(rng)
    source = model.operand(_rows(rng), model.scale(0.1, 5.0), random_zero_point(rng))
    options = {}
    if name == "SOFTMAX":
        options = {"beta": float(rng.choice([1.0, 1.0, 0.5, 2.0, rng.uniform(0.1, 3.0)]))}
    return model.finish(name, [source], options=options)


def _l2_normalization(rng: Random) -> Case:
    model = SingleOperator(rng)
    codes, zero_point = _rows(rng), random_zero_point(rng)
    if rng.integers(4) == 0:  # small sums: few codes beside the zero point
        codes = np.full_like(codes, zero_point)
        codes.flat[:: choose(rng, 2, 3, 7)] = np.clip(zero_point + rng.integers(-2, 3), -128, 127)
    return model.finish("L2_NORMALIZATION", [model.operand(codes, model.scale(), zero_point)])


def _extend_rows(name: str, net: GrowingNetwork) -> None:
    # Exponentials that sum to 512 abort SOFTMAX: a short axis cannot reach it.
    x = net.pick(lambda value: 2 <= len(value.shape) <= 4 and value.shape[-1] <= 256)
    options = {}
    if name == "SOFTMAX":
        betas = [1.0, 1.0, 0.5, float(net.rng.uniform(0.1, 3.0))]
        options = {"beta": float(net.rng.choice(betas))}
    net.add(name, [x], options=options)


def _reduction(name: str, rng: Random) -> Case:
    model = SingleOperator(rng)
    shape = random_shape(rng, (1, 2, 3, 4, 5, 6), 6)
    scale, zero_point = model.scale(), random_zero_point(rng)
    if name in TRUTHS:
        source = model.unquantized(random_truths(rng, shape))
    else:
        source = model.operand(random_codes(rng, shape), scale, zero_point)
    rank = len(shape)
    chosen = rng.choice(rank, rng.integers(1, rank, endpoint=True), replace=False)
    keep = bool(rng.integers(2))
    axes = chosen - rank * rng.integers(0, 2, chosen.size)  # negative ones count from the end
    axes = rng.permutation(np.append(axes, chosen[: rng.integers(2)])).astype(np.int32)
    if axes.size == 1 and rng.integers(2):
        axes = axes.reshape(())
    out = scale, zero_point
    if name in ("MEAN", "SUM"):
        near = _suited(name, scale, prod(shape[axis] for axis in chosen))
        out = model.output_scale(near, scale), random_zero_point(rng)
    return model.finish(name, [source, model.given(axes)], out, {"keep_dims": keep})


def _extend_reduction(name: str, net: GrowingNetwork) -> None:
    x = net.pick()
    out = x  # extremes are not rescaled
    if name in TRUTHS:
        x = net.truth(has_axes, x.shape)
    rank = len(x.shape)
    keep = bool(net.rng.integers(2))
    axes = net.rng.choice(rank, net.rng.integers(1, rank, endpoint=True), replace=False)
    signed = (axes - rank * net.rng.integers(0, 2, axes.size)).astype(np.int32)
    if name in ("MEAN", "SUM"):
        out = net.rescaled(_suited(name, x.scale, prod(x.shape[axis] for axis in axes)))
    net.add(name, [x, net.constant(signed)], out, {"keep_dims": keep})


def _suited(name: str, scale: float, count: int) -> float:
    """Return the scale that spreads the means or sums of ``count`` elements over int8."""
    spread = np.sqrt(count)
    return scale * (spread if name == "SUM" else 1 / spread)


def _index_of_extreme(name: str, rng: Random) -> Case:
    model = SingleOperator(rng)
    codes = random_codes(rng, random_shape(rng, (1, 2, 3, 4, 5), 7))
    if rng.integers(2):
        codes //= 64  # several equal extremes
    source = model.operand(codes, model.scale(), random_zero_point(rng))
    axis = int(rng.integers(codes.ndim))
    given = np.array(axis - codes.ndim * rng.integers(2)).astype(
        np.int32 if rng.integers(2) else np.int64
    )
    inputs = [source, model.given(given.reshape([(), (1,)][rng.integers(2)]))]
    options = {"output_type": ["INT32", "INT64"][rng.integers(2)]}
    return model.finish(name, inputs, options=options)


def _extend_index_of_extreme(name: str, net: GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) >= 2)
    axis = net.integers(int(net.rng.integers(len(x.shape))))
    net.add(name, [x, axis], options={"output_type": "INT32"})


ROWS: dict[str, Maker] = {
    "L2_NORMALIZATION": Maker(_l2_normalization, partial(_extend_rows, "L2_NORMALIZATION")),
    **makers(_exponentials, _extend_rows, "LOG_SOFTMAX", "SOFTMAX"),
    **makers(_index_of_extreme, _extend_index_of_extreme, "ARG_MAX", "ARG_MIN"),
    **makers(_reduction, _extend_reduction, *TRUTHS, "MEAN", "REDUCE_MAX", "REDUCE_MIN", "SUM"),
}
"""By the operator's name."""

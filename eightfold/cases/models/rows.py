"""Random operators over rows and axes: SOFTMAX and its kin, reductions, indices of extremes."""

from collections.abc import Callable

import numpy as np

from eightfold.cases.models.tensors import (
    Case,
    Random,
    SingleOperator,
    choose,
    random_codes,
    random_shape,
    random_zero_point,
)


def _rows(rng: Random) -> np.ndarray:
    shape = [*random_shape(rng, (0, 1, 1, 2, 2, 3), 16), choose(rng, 1, 2, 3, 10, 100, 400)]
    while len(shape) > 3 and np.prod(shape) > 2**16:
        del shape[0]
    return random_codes(rng, shape)


def _softmax(rng: Random) -> Case:
    model = SingleOperator(rng)
    codes = _rows(rng)
    source = model.input(codes, model.scale(0.1, 5.0), random_zero_point(rng))
    beta = float(rng.choice([1.0, 1.0, 0.5, 2.0, rng.uniform(0.1, 3.0)]))
    return model.finish("SOFTMAX", [source], codes.shape, 1 / 256, -128, {"beta": beta})


def _log_softmax(rng: Random) -> Case:
    model = SingleOperator(rng)
    codes = _rows(rng)
    source = model.input(codes, model.scale(0.1, 5.0), random_zero_point(rng))
    return model.finish("LOG_SOFTMAX", [source], codes.shape, 16 / 256, 127)


def _l2_normalization(rng: Random) -> Case:
    model = SingleOperator(rng)
    codes, zero_point = _rows(rng), random_zero_point(rng)
    if rng.integers(4) == 0:  # small sums: few codes beside the zero point
        codes = np.full_like(codes, zero_point)
        codes.flat[:: choose(rng, 2, 3, 7)] = np.clip(zero_point + rng.integers(-2, 3), -128, 127)
    source = model.input(codes, model.scale(), zero_point)
    return model.finish("L2_NORMALIZATION", [source], codes.shape, 1 / 128, 0)


def _reduction(operator: str) -> Callable[[Random], Case]:
    def make(rng: Random) -> Case:
        model = SingleOperator(rng)
        codes = random_codes(rng, random_shape(rng, (1, 2, 3, 4, 5, 6), 6))
        scale, zero_point = model.scale(), random_zero_point(rng)
        source = model.input(codes, scale, zero_point)
        rank = codes.ndim
        chosen = rng.choice(rank, rng.integers(1, rank, endpoint=True), replace=False)
        keep = bool(rng.integers(2))
        shape = [
            1 if axis in chosen else size
            for axis, size in enumerate(codes.shape)
            if keep or axis not in chosen
        ]
        axes = chosen - rank * rng.integers(0, 2, chosen.size)  # negative ones count from the end
        axes = rng.permutation(np.append(axes, chosen[: rng.integers(2)])).astype(np.int32)
        if axes.size == 1 and rng.integers(2):
            axes = axes.reshape(())
        out = scale, zero_point
        if operator in ("MEAN", "SUM"):
            spread = np.sqrt(codes.size / max(1, np.prod(shape)))
            near = scale * (spread if operator == "SUM" else 1 / spread)
            out = model.output_scale(near, scale), random_zero_point(rng)
        inputs = [source, model.given(axes)]
        return model.finish(operator, inputs, shape, *out, {"keep_dims": keep})

    return make


def _index_of_extreme(operator: str) -> Callable[[Random], Case]:
    def make(rng: Random) -> Case:
        model = SingleOperator(rng)
        codes = random_codes(rng, random_shape(rng, (1, 2, 3, 4, 5), 7))
        if rng.integers(2):
            codes //= 64  # several equal extremes
        source = model.input(codes, model.scale(), random_zero_point(rng))
        axis = int(rng.integers(codes.ndim))
        shape = [size for d, size in enumerate(codes.shape) if d != axis]
        given = np.array(axis - codes.ndim * rng.integers(2)).astype(
            np.int32 if rng.integers(2) else np.int64
        )
        inputs = [source, model.given(given.reshape([(), (1,)][rng.integers(2)]))]
        dtype = [np.int32, np.int64][rng.integers(2)]
        options = {"output_type": np.dtype(dtype).name.upper()}
        return model.finish(operator, inputs, shape, None, 0, options, dtype)

    return make


ROWS: dict[str, Callable[[Random], Case]] = {
    "ARG_MAX": _index_of_extreme("ARG_MAX"),
    "ARG_MIN": _index_of_extreme("ARG_MIN"),
    "L2_NORMALIZATION": _l2_normalization,
    "LOG_SOFTMAX": _log_softmax,
    "MEAN": _reduction("MEAN"),
    "REDUCE_MAX": _reduction("REDUCE_MAX"),
    "REDUCE_MIN": _reduction("REDUCE_MIN"),
    "SOFTMAX": _softmax,
    "SUM": _reduction("SUM"),
}

"""Random operators that copy codes into another shape, join or take tensors apart."""

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


class Copy(SingleOperator):
    """An operator whose output has the input's scale and zero point, mostly."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self.pair = {"scale": self.scale(), "zero_point": random_zero_point(rng)}

    def source(self, shape: list[int]) -> tuple[np.ndarray, int]:
        codes = random_codes(self.rng, shape)
        return codes, self.input(codes, **self.pair)

    def other_pair(self) -> None:
        """In a quarter of the models, another scale and zero point: accepted, not rescaled."""
        if self.rng.integers(4) == 0:
            self.pair = {"scale": self.scale(), "zero_point": random_zero_point(self.rng)}

    def copy(
        self, operator: str, inputs: list[int], shape: list[int], options: dict | None = None
    ) -> Case:
        return self.finish_all(operator, inputs, [(shape, self.pair)], options)


def _index_dtype(rng: Random) -> type[np.signedinteger]:
    return np.int32 if rng.integers(2) else np.int64


def _pad(rng: Random) -> Case:
    model = Copy(rng)
    codes, source = model.source(random_shape(rng, (1, 2, 3, 4, 5), 4))
    paddings = rng.integers(0, 3, (codes.ndim, 2), endpoint=True).astype(_index_dtype(rng))
    model.other_pair()
    shape = (np.array(codes.shape) + paddings.sum(axis=1)).tolist()
    return model.copy("PAD", [source, model.given(paddings)], shape)


def _padv2(rng: Random) -> Case:
    model = Copy(rng)
    codes, source = model.source(random_shape(rng, (1, 2, 3, 4, 5), 4))
    paddings = rng.integers(0, 3, (codes.ndim, 2), endpoint=True).astype(_index_dtype(rng))
    model.other_pair()
    value = random_codes(rng, [(), (1,)][rng.integers(2)])
    constant = rng.integers(2)
    fill = (
        model.builder.constant(value, **model.pair)
        if constant
        else model.input(value, **model.pair)
    )
    shape = (np.array(codes.shape) + paddings.sum(axis=1)).tolist()
    return model.copy("PADV2", [source, model.given(paddings), fill], shape)


def _reshape(rng: Random) -> Case:
    model = Copy(rng)
    codes, source = model.source(random_shape(rng, (1, 2, 3, 4, 5)))
    first = choose(rng, *(n for n in range(1, codes.size + 1) if codes.size % n == 0))
    shape = [first, codes.size // first, *([1] if rng.integers(2) else [])]
    asked = list(shape)
    if rng.integers(2):
        asked[rng.integers(2)] = -1
    if rng.integers(2):
        return model.copy("RESHAPE", [source, model.given(np.array(asked, np.int32))], shape)
    return model.copy("RESHAPE", [source], shape, {"new_shape": asked})


def _squeeze(rng: Random) -> Case:
    model = Copy(rng)
    shape = [1 if rng.integers(2) else size for size in random_shape(rng, range(1, 9), 3)]
    _, source = model.source(shape)
    ones = [d for d, size in enumerate(shape) if size == 1]
    chosen = [d for d in ones if rng.integers(2)]
    model.other_pair()
    left = [size for d, size in enumerate(shape) if d not in (chosen or ones)]
    dims = [d - len(shape) * int(rng.integers(2)) for d in chosen]
    return model.copy("SQUEEZE", [source], left, {"squeeze_dims": dims})


def _expand_dims(rng: Random) -> Case:
    model = Copy(rng)
    codes, source = model.source(random_shape(rng, (1, 2, 3, 4, 5)))
    axis = int(rng.integers(-codes.ndim - 1, codes.ndim, endpoint=True))
    given = np.array(axis, _index_dtype(rng)).reshape([(), (1,)][rng.integers(2)])
    return model.copy(
        "EXPAND_DIMS", [source, model.given(given)], list(np.expand_dims(codes, axis).shape)
    )


def _transpose(rng: Random) -> Case:
    model = Copy(rng)
    codes, source = model.source(random_shape(rng, range(1, 9), 3))
    order = rng.permutation(codes.ndim)
    shape = [codes.shape[axis] for axis in order]
    given = (order - codes.ndim * rng.integers(0, 2, codes.ndim)).astype(np.int32)
    model.other_pair()
    return model.copy("TRANSPOSE", [source, model.given(given)], shape)


def _shape(rng: Random) -> Case:
    model = Copy(rng)
    codes, source = model.source(random_shape(rng, range(1, 9), 3))
    dtype = _index_dtype(rng)
    options = {"out_type": np.dtype(dtype).name.upper()}
    return model.finish("SHAPE", [source], [codes.ndim], None, 0, options, dtype)


def _concatenation(rng: Random) -> Case:
    model = Copy(rng)
    shape = random_shape(rng, (1, 2, 3, 4, 5, 6), 4)
    axis = int(rng.integers(len(shape)))
    inputs = []
    total = 0
    for _ in range(rng.integers(1, 5)):
        shape[axis] = int(rng.integers(1, 5))
        total += shape[axis]
        if inputs and rng.integers(4) == 0:
            inputs.append(model.builder.constant(random_codes(rng, shape), **model.pair))
        else:
            inputs.append(model.source(shape)[1])
    shape[axis] = total
    options = {"axis": axis - len(shape) * int(rng.integers(2))}
    return model.copy("CONCATENATION", inputs, shape, options)


def _pack(rng: Random) -> Case:
    model = Copy(rng)
    shape = random_shape(rng, (0, 1, 2, 3, 4), 5)
    count = int(rng.integers(1, 5))
    inputs = [model.source(shape)[1] for _ in range(count)]
    axis = int(rng.integers(len(shape) + 1))
    result = [*shape[:axis], count, *shape[axis:]]
    options = {"values_count": count, "axis": axis - len(result) * int(rng.integers(2))}
    return model.copy("PACK", inputs, result, options)


def _unpack(rng: Random) -> Case:
    model = Copy(rng)
    codes, source = model.source(random_shape(rng, (1, 2, 3, 4), 5))
    axis = int(rng.integers(codes.ndim))
    shape = [size for d, size in enumerate(codes.shape) if d != axis]
    options = {"num": codes.shape[axis], "axis": axis - codes.ndim * int(rng.integers(2))}
    return model.finish_all("UNPACK", [source], [(shape, model.pair)] * codes.shape[axis], options)


def _split(rng: Random) -> Case:
    model = Copy(rng)
    shape = random_shape(rng, (1, 2, 3, 4, 5), 4)
    axis = int(rng.integers(len(shape)))
    count = int(rng.integers(1, 5))
    whole = [*shape[:axis], shape[axis] * count, *shape[axis + 1 :]]
    _, source = model.source(whole)
    given = np.array(axis - len(shape) * int(rng.integers(2)), np.int32)
    inputs = [model.given(given.reshape([(), (1,)][rng.integers(2)])), source]
    model.other_pair()
    return model.finish_all("SPLIT", inputs, [(shape, model.pair)] * count, {"num_splits": count})


def _blocks(operator: str) -> Callable[[Random], Case]:
    def make(rng: Random) -> Case:
        model = Copy(rng)
        n, h, w, c = random_shape(rng, (4,), 4)
        block = choose(rng, 1, 2, 2, 3)
        space = [n, h * block, w * block, c]
        depth = [n, h, w, c * block**2]
        before, after = (space, depth) if operator == "SPACE_TO_DEPTH" else (depth, space)
        _, source = model.source(before)
        model.other_pair()
        return model.copy(operator, [source], after, {"block_size": block})

    return make


def _space_to_batch_nd(rng: Random) -> Case:
    model = Copy(rng)
    n = choose(rng, 1, 2, 3)
    c = choose(rng, 1, 2, 3)
    spatial = int(rng.integers(1, 3))
    block = rng.integers(1, 4, spatial)
    small = rng.integers(1, 4, spatial)
    pads = rng.integers(-1 if rng.integers(4) == 0 else 0, 3, (spatial, 2))
    sizes = block * small - pads.sum(axis=1)
    pads[:, 1] -= np.where(sizes < 1, 1 - sizes, 0)
    _, source = model.source([n, *np.maximum(sizes, 1).tolist(), c])
    shape = [n * int(block.prod()), *small.tolist(), c]
    inputs = [source, model.given(block.astype(np.int32)), model.given(pads.astype(np.int32))]
    return model.copy("SPACE_TO_BATCH_ND", inputs, shape)


def _batch_to_space_nd(rng: Random) -> Case:
    model = Copy(rng)
    n = choose(rng, 1, 2, 3)
    c = choose(rng, 1, 2, 3)
    spatial = int(rng.integers(1, 3))
    block, small = rng.integers(1, 4, spatial), rng.integers(1, 4, spatial)
    whole = block * small
    before = rng.integers(0, whole)
    crops = np.stack([before, rng.integers(0, whole - before)], axis=1)
    _, source = model.source([n * int(block.prod()), *small.tolist(), c])
    shape = [n, *(whole - crops.sum(axis=1)).tolist(), c]
    inputs = [source, model.given(block.astype(np.int32)), model.given(crops.astype(np.int32))]
    return model.copy("BATCH_TO_SPACE_ND", inputs, shape)


MOVEMENT: dict[str, Callable[[Random], Case]] = {
    "BATCH_TO_SPACE_ND": _batch_to_space_nd,
    "CONCATENATION": _concatenation,
    "DEPTH_TO_SPACE": _blocks("DEPTH_TO_SPACE"),
    "EXPAND_DIMS": _expand_dims,
    "PACK": _pack,
    "PAD": _pad,
    "PADV2": _padv2,
    "RESHAPE": _reshape,
    "SHAPE": _shape,
    "SPACE_TO_BATCH_ND": _space_to_batch_nd,
    "SPACE_TO_DEPTH": _blocks("SPACE_TO_DEPTH"),
    "SPLIT": _split,
    "SQUEEZE": _squeeze,
    "TRANSPOSE": _transpose,
    "UNPACK": _unpack,
}

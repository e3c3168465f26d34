"""How a random network grows by the operators that move bytes."""

from math import prod

import numpy as np

from eightfold.cases.models.tensors import choose, random_codes
from eightfold.cases.networks.growing import GrowingNetwork, Value, any_rank
from eightfold.cases.networks.operators import Extension


def _int32(net: GrowingNetwork, values: object) -> int:
    return net.builder.constant(np.array(values, dtype=np.int32))


def _reshape(net: GrowingNetwork) -> None:
    x = net.pick(any_rank)
    if x.shape and net.operators >= _OPEN and net.rng.integers(2):
        _reshape_open(net, x)
        return
    size = prod(x.shape)
    first = choose(net.rng, *(n for n in range(1, size + 1) if size % n == 0))
    second = choose(net.rng, *(n for n in range(1, 9) if (size // first) % n == 0))
    third = choose(net.rng, *(n for n in range(1, 9) if (size // first // second) % n == 0))
    four = [1, second, third, size // second // third]
    ranks = [four, [first, size // first], [first, second, size // first // second]]
    # Away from rank 4 half the time, back to it otherwise: most operators need it.
    shape = ranks[net.rng.integers(1, 3)] if len(x.shape) == 4 else four
    asked = list(shape)
    if net.rng.integers(2):
        asked[net.rng.integers(len(asked))] = -1
    if net.rng.integers(2):
        net.add("RESHAPE", [x, _int32(net, asked)], shape, *net.kept(x))
    else:
        net.add("RESHAPE", [x], shape, *net.kept(x), {"new_shape": asked})


_OPEN = frozenset({"SHAPE", "STRIDED_SLICE", "PACK"})


def _reshape_open(net: GrowingNetwork, x: Value) -> None:
    """Add what Keras writes for Flatten of an open batch: one size is read, a scalar."""
    axis = int(net.rng.integers(len(x.shape)))
    size = x.shape[axis]
    rest = prod(x.shape) // size
    first = choose(net.rng, *(n for n in range(1, rest + 1) if rest % n == 0))
    others = [rest] if net.rng.integers(2) else [first, rest // first]
    sizes = net.add_last("SHAPE", [x], [len(x.shape)], np.int32, {"out_type": "INT32"})
    place = [_int32(net, [entry]) for entry in (axis, axis + 1, 1)]
    read = net.add_last("STRIDED_SLICE", [sizes, *place], [], np.int32, {"shrink_axis_mask": 1})
    parts = [read, *(_int32(net, other) for other in others)]
    options = {"values_count": len(parts), "axis": 0}
    packed = net.add_last("PACK", parts, [len(parts)], np.int32, options)
    net.add("RESHAPE", [x, packed], [size, *others], *net.kept(x))


def _padding(net: GrowingNetwork, x: Value) -> tuple[int, list[int]]:
    amounts = net.rng.integers(0, 2, (len(x.shape), 2), endpoint=True).astype(np.int32)
    shape = (np.array(x.shape) + amounts.sum(axis=1)).tolist()
    return net.builder.constant(amounts), shape


def _pad(net: GrowingNetwork) -> None:
    x = net.pick(lambda value: 1 <= len(value.shape) <= 5)
    amounts, shape = _padding(net, x)
    net.add("PAD", [x, amounts], shape, *net.kept(x))


def _padv2(net: GrowingNetwork) -> None:
    x = net.pick(lambda value: 1 <= len(value.shape) <= 5)
    amounts, shape = _padding(net, x)
    scale, zero_point = net.kept(x)
    fill = random_codes(net.rng, [])
    constant = net.builder.constant(fill, scale=scale, zero_point=zero_point)
    net.add("PADV2", [x, amounts, constant], shape, scale, zero_point)


def _concatenation(net: GrowingNetwork) -> None:
    a = net.pick()
    axis = int(net.rng.integers(len(a.shape)))

    def others(value: Value) -> tuple[int, ...]:
        return (len(value.shape), *value.shape[:axis], *value.shape[axis + 1 :])

    parts = [
        net.pick(lambda value: others(value) == others(a)) for _ in range(choose(net.rng, 1, 2))
    ]
    total = sum(part.shape[axis] for part in [a, *parts])
    shape = [*a.shape[:axis], total, *a.shape[axis + 1 :]]
    inputs = [a, *(net.equalized(part, a) for part in parts)]  # the kernel does not rescale
    signed = axis - len(a.shape) * int(net.rng.integers(2))
    net.add("CONCATENATION", inputs, shape, a.scale, a.zero_point, {"axis": signed})


def _transpose(net: GrowingNetwork) -> None:
    x = net.pick()
    order = net.rng.permutation(len(x.shape)).tolist()
    inputs = [x, _int32(net, order)]
    net.add("TRANSPOSE", inputs, [x.shape[axis] for axis in order], *net.kept(x))


def _slice(net: GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) <= 5 and prod(value.shape) > 1)
    begin = [int(net.rng.integers(0, (size + 1) // 2)) for size in x.shape]
    shape = [
        int(net.rng.integers(1, n - b, endpoint=True)) for n, b in zip(x.shape, begin, strict=True)
    ]
    to_end = [n - b == m for n, b, m in zip(x.shape, begin, shape, strict=True)]
    asked = [-1 if end and net.rng.integers(2) else m for end, m in zip(to_end, shape, strict=True)]
    net.add("SLICE", [x, _int32(net, begin), _int32(net, asked)], shape, *net.kept(x))


def _squeeze(net: GrowingNetwork) -> None:
    x = net.pick(lambda value: 1 in value.shape)
    ones = [axis for axis, size in enumerate(x.shape) if size == 1]
    count = net.rng.integers(1, len(ones), endpoint=True)
    axes = net.rng.choice(ones, count, replace=False).tolist()
    shape = [size for axis, size in enumerate(x.shape) if axis not in axes]
    net.add("SQUEEZE", [x], shape, *net.kept(x), {"squeeze_dims": axes})


def _gather(net: GrowingNetwork) -> None:
    computed = "ARG_MAX" in net.operators and net.rng.integers(4) == 0
    x = net.pick(lambda value: (2 if computed else 1) <= len(value.shape) <= (4 if computed else 8))
    axis = int(net.rng.integers(len(x.shape)))
    if computed:  # where the axis has its largest codes
        own = [*x.shape[:axis], *x.shape[axis + 1 :]]
        options = {"output_type": "INT32"}
        indices = net.add_last("ARG_MAX", [x, _int32(net, axis)], own, np.int32, options)
    else:
        own = [int(net.rng.integers(1, 4, endpoint=True))] if net.rng.integers(4) else []
        indices = _int32(net, net.rng.integers(0, x.shape[axis], own))
    shape = [*x.shape[:axis], *own, *x.shape[axis + 1 :]]
    net.add("GATHER", [x, indices], shape, *net.kept(x), {"axis": axis})


def _blocks(net: GrowingNetwork, x: Value) -> list[int]:
    """Return a block size for each spatial axis that divides it."""
    return [choose(net.rng, *(n for n in (1, 2, 3) if size % n == 0)) for size in x.shape[1:3]]


def _space_to_depth(net: GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) == 4)
    n, h, w, c = x.shape
    block = choose(net.rng, *(b for b in (1, 2, 3) if h % b == 0 and w % b == 0))
    shape = [n, h // block, w // block, c * block * block]
    net.add("SPACE_TO_DEPTH", [x], shape, *net.kept(x), {"block_size": block})


def _space_to_batch_nd(net: GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) == 4)
    n, h, w, c = x.shape
    blocks = _blocks(net, x)
    pads = [[block * int(net.rng.integers(2)), 0] for block in blocks]
    high, wide = h + pads[0][0], w + pads[1][0]
    shape = [n * prod(blocks), high // blocks[0], wide // blocks[1], c]
    inputs = [x, _int32(net, blocks), _int32(net, pads)]
    net.add("SPACE_TO_BATCH_ND", inputs, shape, x.scale, x.zero_point)


def _batch_to_space_nd(net: GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) == 4 and value.shape[0] > 1)
    n, h, w, c = x.shape
    first = choose(net.rng, *(b for b in (1, 2, 3) if n % b == 0))
    second = choose(net.rng, *(b for b in (1, 2, 3) if n // first % b == 0))
    high, wide = h * first, w * second
    crops = [[int(net.rng.integers(2)) if size > 1 else 0, 0] for size in (high, wide)]
    shape = [n // first // second, high - crops[0][0], wide - crops[1][0], c]
    inputs = [x, _int32(net, [first, second]), _int32(net, crops)]
    net.add("BATCH_TO_SPACE_ND", inputs, shape, x.scale, x.zero_point)


def _resize_bilinear(net: GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) == 4)
    n, h, w, c = x.shape
    # Large ratios read beyond the input; these do not.
    sizes = [size * choose(net.rng, 1, 2, 3) for size in (h, w)]
    shape = [n, *sizes, c]
    flags = [{}, {"align_corners": True}, {"half_pixel_centers": True}][net.rng.integers(3)]
    net.add("RESIZE_BILINEAR", [x, _int32(net, sizes)], shape, *net.kept(x), flags)


def _resize_nearest_neighbor(net: GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) == 4)
    n, h, w, c = x.shape
    sizes = [
        size * choose(net.rng, 1, 2, 3)
        if net.rng.integers(2)
        else int(net.rng.integers(1, 2 * size, endpoint=True))
        for size in (h, w)
    ]
    flags = {name: bool(net.rng.integers(2)) for name in ("align_corners", "half_pixel_centers")}
    inputs = [x, _int32(net, sizes)]
    net.add("RESIZE_NEAREST_NEIGHBOR", inputs, [n, *sizes, c], *net.kept(x), flags)


def _depth_to_space(net: GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) == 4)
    n, h, w, c = x.shape
    block = choose(net.rng, *(b for b in (1, 2, 3) if c % (b * b) == 0))
    shape = [n, h * block, w * block, c // block**2]
    net.add("DEPTH_TO_SPACE", [x], shape, *net.kept(x), {"block_size": block})


def _strided_slice(net: GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) <= 5 and prod(value.shape) > 1)
    begin = [int(net.rng.integers(size)) for size in x.shape]
    strides = [choose(net.rng, -2, -1, 1, 1, 2) for _ in x.shape]
    shrunk = [bool(net.rng.integers(4) == 0) for _ in x.shape]  # one element, whose axis goes
    strides = [1 if only else step for only, step in zip(shrunk, strides, strict=True)]
    sizes = [
        len(range(first, size if step > 0 else -1, step))
        for first, size, step, only in zip(begin, x.shape, strides, shrunk, strict=True)
        if not only
    ]
    ends = [first + 1 if only else 0 for first, only in zip(begin, shrunk, strict=True)]
    inputs = [x, *(_int32(net, values) for values in (begin, ends, strides))]
    to_end = sum(1 << axis for axis, only in enumerate(shrunk) if not only)
    masks = {"end_mask": to_end, "shrink_axis_mask": (1 << len(begin)) - 1 - to_end}
    net.add("STRIDED_SLICE", inputs, sizes, *net.kept(x), masks)


def _expand_dims(net: GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) < 5)
    axis = int(net.rng.integers(len(x.shape) + 1))
    shape = [*x.shape[:axis], 1, *x.shape[axis:]]
    net.add("EXPAND_DIMS", [x, _int32(net, axis)], shape, x.scale, x.zero_point)


def _pack(net: GrowingNetwork) -> None:
    a = net.pick(lambda value: len(value.shape) < 5)
    others = [net.pick(lambda value: value.shape == a.shape) for _ in range(net.rng.integers(3))]
    axis = int(net.rng.integers(len(a.shape) + 1))
    inputs = [a, *(net.equalized(other, a) for other in others)]
    shape = [*a.shape[:axis], len(inputs), *a.shape[axis:]]
    options = {"values_count": len(inputs), "axis": axis}
    net.add("PACK", inputs, shape, a.scale, a.zero_point, options)


def _split(net: GrowingNetwork) -> None:
    x = net.pick()
    axis = int(net.rng.integers(len(x.shape)))
    count = choose(net.rng, *(n for n in (1, 2, 3, 4) if x.shape[axis] % n == 0))
    shape = [*x.shape[:axis], x.shape[axis] // count, *x.shape[axis + 1 :]]
    inputs = [_int32(net, axis), x]
    net.add_several("SPLIT", inputs, [shape] * count, *net.kept(x), {"num_splits": count})


def _unpack(net: GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) > 1 and min(value.shape) <= 4)
    axis = choose(net.rng, *(a for a, size in enumerate(x.shape) if size <= 4))
    shape = [size for a, size in enumerate(x.shape) if a != axis]
    count = x.shape[axis]
    options = {"num": count, "axis": axis}
    net.add_several("UNPACK", [x], [shape] * count, x.scale, x.zero_point, options)


def _shape(net: GrowingNetwork) -> None:
    x = net.pick()
    net.add_last("SHAPE", [x], [len(x.shape)], np.int32, {"out_type": "INT32"})


EXTENSIONS: dict[str, Extension] = {
    "BATCH_TO_SPACE_ND": _batch_to_space_nd,
    "CONCATENATION": _concatenation,
    "DEPTH_TO_SPACE": _depth_to_space,
    "EXPAND_DIMS": _expand_dims,
    "GATHER": _gather,
    "PACK": _pack,
    "PAD": _pad,
    "PADV2": _padv2,
    "RESHAPE": _reshape,
    "RESIZE_BILINEAR": _resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": _resize_nearest_neighbor,
    "SHAPE": _shape,
    "SLICE": _slice,
    "SPACE_TO_BATCH_ND": _space_to_batch_nd,
    "SPACE_TO_DEPTH": _space_to_depth,
    "SPLIT": _split,
    "SQUEEZE": _squeeze,
    "STRIDED_SLICE": _strided_slice,
    "TRANSPOSE": _transpose,
    "UNPACK": _unpack,
}
"""Operators that copy codes, and RESIZE_BILINEAR, which mixes neighbours."""

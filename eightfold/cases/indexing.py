"""Operators that pick or place elements, and the resizes."""

from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np

from eightfold.cases import draws
from eightfold.cases.builder import Value
from eightfold.cases.movement import CopyModel

MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _slice(rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    codes, source = model.source(draws.random_shape(rng, range(1, 8), 4))
    dtype = draws.index_dtype(rng)
    begin = rng.integers(0, codes.shape)
    size = rng.integers(1, np.array(codes.shape) - begin, endpoint=True)
    asked = np.where(
        (begin + size == codes.shape) & (rng.integers(2, size=size.size) == 0), -1, size
    )
    model.other_pair()
    inputs = [source, model.given(begin.astype(dtype)), model.given(asked.astype(dtype))]
    return model.copy("SLICE", inputs)


def _entry(rng: draws.Random, size: int, shrink: bool, exact: bool) -> tuple[int, int, int]:
    """Return begin, end, stride of a dimension, of at least one element.

    ``exact``: the end is a position, rather than counted from the end or clamped.
    """
    start = int(rng.integers(size))
    if shrink:
        return start - size * int(rng.integers(2)), int(rng.integers(-9, 9)), 1
    stride = int(rng.choice([1, 1, 2, 3, -1, -2]))
    if exact and start == 0:
        stride = abs(stride)
    room = size - start if stride > 0 else start + (not exact)
    span = int(rng.integers(1, room, endpoint=True))
    end = start + span if stride > 0 else start - span
    begin = start - size * int(rng.integers(2))
    if exact:
        return begin, end, stride
    if end < 0:
        end = -size - int(rng.integers(1, 4))  # clamped to before the first
    elif end == size:
        end += int(rng.integers(0, 4))
    elif rng.integers(2):
        end -= size
    return begin, end, stride


def _strided_slice(rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    codes, source = model.source(draws.random_shape(rng, (1, 2, 3, 4, 5), 6))
    entries: list[tuple[int, int, int]] = []
    masks = dict.fromkeys(MASKS, 0)
    dims = 0
    rank = codes.ndim
    offset = rng.integers(4) == 0
    # The whole stands for dimensions without an entry, at the end or behind an ellipsis.
    given = rank if offset else int(rng.integers(0, rank, endpoint=True))
    ellipsis = (
        int(rng.integers(0, given, endpoint=True)) if rng.integers(2) and not offset else None
    )
    given = min(given, rank - 1) if ellipsis is not None else given
    ellipsis = min(ellipsis, given) if ellipsis is not None else None
    for place in range(given + 1):
        if rng.integers(6) == 0 and dims < rank and not offset:
            masks["new_axis_mask"] |= 1 << len(entries)
            entries.append((int(rng.integers(-3, 3)), 0, 1))
        if place == ellipsis:
            masks["ellipsis_mask"] |= 1 << len(entries)
            entries.append((0, 0, 1))
            dims += rank - given
        if place == given:
            break
        bit = 1 << len(entries)
        size = codes.shape[dims]
        shrink = rng.integers(5) == 0
        begin, end, stride = _entry(rng, size, bool(shrink), offset)
        if not shrink and not offset and rng.integers(4) == 0:
            masks["begin_mask"] |= bit
            begin = int(rng.integers(-9, 9))
            masks["end_mask"] |= bit
        masks["shrink_axis_mask"] |= bit * int(shrink)
        entries.append((begin, end, stride))
        dims += 1
    if not entries:
        masks["ellipsis_mask"] = 1
        entries = [(0, 0, 1)]
    columns = np.array(entries, np.int32).T
    if offset:  # ends count from begin
        sizes = np.array(codes.shape[: columns.shape[1]])
        columns[1] -= np.where(columns[0] < 0, columns[0] + sizes, columns[0])
    model.other_pair()
    begin, end, strides = (np.asarray(column, order="C") for column in columns)
    # Where ends count from begin, LiteRT ends if they are computed and strides are not.
    ends = model.constant(end) if offset else model.given(end)
    inputs = [source, model.given(begin), ends, model.given(strides)]
    return model.copy("STRIDED_SLICE", inputs, masks | {"offset": bool(offset)})


def _gather(rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    codes, source = model.source(draws.random_shape(rng, (1, 2, 3, 4), 5))
    axis = int(rng.integers(codes.ndim))
    batch = int(rng.integers(axis, endpoint=True)) if rng.integers(2) else 0
    own = draws.random_shape(rng, (0, 1, 2), 4)
    dtype = [np.int16, np.int32, np.int64][rng.integers(3)]
    lead = list(codes.shape[:batch])
    indices = rng.integers(0, codes.shape[axis], [*lead, *own]).astype(dtype)
    options = {"axis": axis - codes.ndim * int(rng.integers(2)), "batch_dims": batch}
    if indices.ndim and batch < indices.ndim and rng.integers(2):
        options["batch_dims"] -= indices.ndim
    model.other_pair()
    return model.copy("GATHER", [source, model.given(indices)], options)


def _places(
    rng: draws.Random, shape: Sequence[int], ranks: Sequence[int] = (0, 1, 2)
) -> np.ndarray:
    """Return coordinates of some elements, or slices, of a shape, no two the same: an array of
    ``ranks`` axes, and one more.
    """
    count = int(rng.integers(1, len(shape), endpoint=True))
    whole = prod(shape[:count])
    own = draws.random_shape(rng, ranks, 3)
    own = own if prod(own) <= whole else [1]
    places = rng.permutation(whole)[: prod(own)].reshape(own)
    return np.stack(np.unravel_index(places, shape[:count]), -1).astype(np.int32)


def _gather_nd(rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    codes, source = model.source(draws.random_shape(rng, (1, 2, 3, 4, 5), 4))
    indices = _places(rng, codes.shape).astype([np.int16, np.int32, np.int64][rng.integers(3)])
    if rng.integers(2):
        indices = rng.choice(
            indices.reshape(-1, indices.shape[-1]), draws.random_shape(rng, (1, 2), 3)
        )
    model.other_pair()
    # The accelerator computes with one coordinate that is computed, not with more.
    one = indices.shape[-1] == 1 and rng.integers(2)
    given = model.unquantized(indices) if one else model.given(indices)
    return model.copy("GATHER_ND", [source, given])


def _scatter_nd(rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    shape = draws.random_shape(rng, (1, 2, 3, 4, 5), 4)
    indices = _places(rng, shape, (1, 2))
    given = model.given(indices)
    if given in model.inputs and rng.integers(2):
        # Updates at one place are added: where the accelerator does not take the indices anyway.
        indices[...] = indices.reshape(-1, indices.shape[-1])[0]
    _, source = model.source([*indices.shape[:-1], *shape[indices.shape[-1] :]])
    model.other_pair()
    return model.copy("SCATTER_ND", [given, source, model.given(np.array(shape, np.int32))])


def _dynamic_update_slice(rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    codes, source = model.source(draws.random_shape(rng, (1, 2, 3, 4, 5), 4))
    sizes = rng.integers(1, codes.shape, endpoint=True)
    model.other_pair()
    _, update = model.source(sizes.tolist())
    start = rng.integers(-2, 5, codes.ndim).astype(draws.index_dtype(rng))
    model.other_pair()
    return model.copy("DYNAMIC_UPDATE_SLICE", [source, update, model.given(start)])


def _resize(operator: str, rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    codes, source = model.source([draws.choose(rng, 1, 2), *draws.random_shape(rng, (2,), 9), 3])
    # From 55 on a ratio can be one that reads beyond the end.
    size = rng.integers(1, 50, 2, endpoint=True)
    if rng.integers(2):
        size = np.array(codes.shape[1:3]) * rng.integers(1, 5, 2)
    corners, centers = (bool(flag) for flag in rng.integers(2, size=2))
    if operator == "RESIZE_BILINEAR" and corners:
        centers = False
    options = {"align_corners": corners, "half_pixel_centers": centers}
    model.other_pair()
    return model.copy(operator, [source, model.given(size.astype(np.int32))], options)


def _extend_slice(net: draws.GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) <= 5 and prod(value.shape) > 1)
    begin = [int(net.rng.integers(0, (size + 1) // 2)) for size in x.shape]
    left = [n - b for n, b in zip(x.shape, begin, strict=True)]
    sizes = [int(net.rng.integers(1, n, endpoint=True)) for n in left]
    asked = [-1 if n == m and net.rng.integers(2) else m for n, m in zip(left, sizes, strict=True)]
    net.add("SLICE", [x, net.integers(begin), net.integers(asked)], net.kept(x))


def _extend_strided_slice(net: draws.GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) <= 5 and prod(value.shape) > 1)
    begin = [int(net.rng.integers(size)) for size in x.shape]
    strides = [draws.choose(net.rng, -2, -1, 1, 1, 2) for _ in x.shape]
    shrunk = [bool(net.rng.integers(4) == 0) for _ in x.shape]  # one element, whose axis goes
    strides = [1 if only else step for only, step in zip(shrunk, strides, strict=True)]
    ends = [first + 1 if only else 0 for first, only in zip(begin, shrunk, strict=True)]
    inputs = [x, *(net.integers(values) for values in (begin, ends, strides))]
    to_end = sum(1 << axis for axis, only in enumerate(shrunk) if not only)
    masks = {"end_mask": to_end, "shrink_axis_mask": (1 << len(begin)) - 1 - to_end}
    net.add("STRIDED_SLICE", inputs, net.kept(x), masks)


def _extend_gather(net: draws.GrowingNetwork) -> None:
    computed = "ARG_MAX" in net.operators and net.rng.integers(4) == 0
    x = net.pick(lambda value: (2 if computed else 1) <= len(value.shape) <= (4 if computed else 8))
    axis = int(net.rng.integers(len(x.shape)))
    if computed:  # where the axis has its largest codes
        indices = net.add("ARG_MAX", [x, net.integers(axis)], options={"output_type": "INT32"})
    else:
        own = [int(net.rng.integers(1, 4, endpoint=True))] if net.rng.integers(4) else []
        indices = net.integers(net.rng.integers(0, x.shape[axis], own))
    net.add("GATHER", [x, indices], net.kept(x), {"axis": axis})


def _extend_gather_nd(net: draws.GrowingNetwork) -> None:
    x = net.pick(lambda value: 1 <= len(value.shape) <= 5)
    net.add("GATHER_ND", [x, net.integers(_places(net.rng, x.shape, (1, 2)))], net.kept(x))


def _extend_scatter_nd(net: draws.GrowingNetwork) -> None:
    x = net.pick(lambda value: 1 <= len(value.shape) <= 4)
    rows = x.shape[0] + int(net.rng.integers(3))
    indices = net.integers(net.rng.permutation(rows)[: x.shape[0], None])
    net.add("SCATTER_ND", [indices, x, net.integers([rows, *x.shape[1:]])], net.kept(x))


def _extend_dynamic_update_slice(net: draws.GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) <= 8)

    def fits(value: Value) -> bool:
        pairs = zip(value.shape, x.shape, strict=False)
        return len(value.shape) == len(x.shape) and all(a <= b for a, b in pairs)

    update = net.pick(fits)
    start = net.integers(net.rng.integers(-1, 4, len(x.shape)))
    net.add("DYNAMIC_UPDATE_SLICE", [x, update, start], net.kept(x))


def _extend_resize_bilinear(net: draws.GrowingNetwork) -> None:
    x = net.pick(draws.is_image)
    # Large ratios read beyond the input; these do not.
    sizes = [size * draws.choose(net.rng, 1, 2, 3) for size in x.shape[1:3]]
    flags = [{}, {"align_corners": True}, {"half_pixel_centers": True}][net.rng.integers(3)]
    net.add("RESIZE_BILINEAR", [x, net.integers(sizes)], net.kept(x), flags)


def _extend_resize_nearest_neighbor(net: draws.GrowingNetwork) -> None:
    x = net.pick(draws.is_image)
    sizes = [
        size * draws.choose(net.rng, 1, 2, 3)
        if net.rng.integers(2)
        else int(net.rng.integers(1, 2 * size, endpoint=True))
        for size in x.shape[1:3]
    ]
    flags = {name: bool(net.rng.integers(2)) for name in ("align_corners", "half_pixel_centers")}
    net.add("RESIZE_NEAREST_NEIGHBOR", [x, net.integers(sizes)], net.kept(x), flags)


INDEXING: dict[str, draws.Maker] = {
    "DYNAMIC_UPDATE_SLICE": draws.Maker(_dynamic_update_slice, _extend_dynamic_update_slice),
    "GATHER": draws.Maker(_gather, _extend_gather),
    "GATHER_ND": draws.Maker(_gather_nd, _extend_gather_nd),
    "RESIZE_BILINEAR": draws.Maker(partial(_resize, "RESIZE_BILINEAR"), _extend_resize_bilinear),
    "RESIZE_NEAREST_NEIGHBOR": draws.Maker(
        partial(_resize, "RESIZE_NEAREST_NEIGHBOR"), _extend_resize_nearest_neighbor
    ),
    "SCATTER_ND": draws.Maker(_scatter_nd, _extend_scatter_nd),
    "SLICE": draws.Maker(_slice, _extend_slice),
    "STRIDED_SLICE": draws.Maker(_strided_slice, _extend_strided_slice),
}
"""By the operator's name."""

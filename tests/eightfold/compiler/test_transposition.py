"""TRANSPOSE on the matrix engine: golden's bytes in fewer cycles; by copies where they take few."""

from math import prod

import numpy as np
import pytest

from eightfold.compiler import Compiled
from eightfold.compiler.lower import movement
from eightfold.compiler.steps.elementwise import IDENTITY
from eightfold.compiler.steps.transposition import Swap, Way, swapped
from eightfold.estimate.estimate import estimate_network
from eightfold.golden.requantize import requantize
from eightfold.isa import Opcode
from eightfold.model import Graph
from eightfold.operators import load_model
from eightfold.target.config import PRESETS, AcceleratorConfig
from tests.support.models.single import moved
from tests.support.networks.machine_run import compile_stream, expect_covered, expect_golden

CONFIGS = {
    **PRESETS,
    "tiny": PRESETS["nano"].replace(scratchpad=4096),
    "odd": AcceleratorConfig(lanes=11, width=7, psum_depth=16, port=8, scratchpad=4096),
    "wide": AcceleratorConfig(lanes=5, width=24, psum_depth=16, scratchpad=8192),
}
WAYS = (True, False)
"""Whether a vector has whole columns."""


def graph_of(shape: tuple[int, ...], axes: list[int], dtype: type = np.int8) -> Graph:
    output = tuple(shape[axis] for axis in axes)
    return load_model(moved("TRANSPOSE", shape, output, axes, dtype=dtype, source_dtype=dtype))


def opcodes(stream: Compiled) -> set[Opcode]:
    return {issued.instruction.opcode for issued in stream.issued}


def test_the_identity_leaves_every_code() -> None:
    codes = np.arange(-128, 128)
    np.testing.assert_array_equal(requantize(codes, **IDENTITY), codes)


@pytest.mark.parametrize(
    ("shape", "axes", "swap"),
    [
        ((1, 3, 5, 7), (0, 2, 3, 1), Swap(1, 3, 35, 1)),
        ((2, 5, 7, 3), (0, 3, 1, 2), Swap(2, 35, 3, 1)),
        ((2, 3, 4, 5), (0, 2, 1, 3), Swap(2, 3, 4, 5)),
        ((4, 1, 5, 1), (3, 2, 1, 0), Swap(1, 4, 5, 1)),
        ((2, 3, 1, 4, 5), (2, 0, 3, 1, 4), Swap(2, 3, 4, 5)),
        ((2, 3, 4), (2, 1, 0), None),
        ((2, 3, 4), (0, 1, 2), None),
        ((1, 1, 4), (2, 0, 1), None),
    ],
)
def test_axes_that_stay_together_are_one(
    shape: tuple[int, ...], axes: tuple[int, ...], swap: Swap | None
) -> None:
    assert swapped(shape, axes, 1) == swap
    if swap:
        assert swapped(shape, axes, 4) == Swap(swap.outer, swap.rows, swap.columns, 4 * swap.item)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_random_transposes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever takes the fewest cycles: by one of both ways, or by copies."""
    rng = np.random.default_rng(seed)
    config = CONFIGS[str(rng.choice(list(CONFIGS)))]
    shape = tuple(int(rng.choice([1, 2, 3, 5, 8, 17, 40])) for _ in range(rng.integers(2, 6)))
    while prod(shape) > 4000:
        shape = tuple(-(-size // 2) for size in shape)
    dtype = (np.int8, np.int8, np.int32, np.int64)[rng.integers(4)]
    graph = graph_of(shape, rng.permutation(len(shape)).tolist(), dtype)
    if rng.integers(2):  # also where copies would take fewer cycles
        monkeypatch.setattr(movement, "cycles", lambda copies, unit: 1 << 40)
    expect_covered(expect_golden(graph, config))


SHAPES = [
    ((1, 3, 19, 17), [0, 2, 3, 1]),
    ((1, 19, 17, 3), [0, 3, 1, 2]),
    ((37, 2, 3), [0, 2, 1]),  # several matrices in a vector
    ((7, 8, 9), [0, 2, 1]),
    ((1, 20, 30), [0, 2, 1]),
    ((2, 90, 12), [0, 2, 1]),  # in parts where the scratchpad is small
    ((2, 3, 900), [0, 2, 1]),
    ((2, 900, 3), [0, 2, 1]),
    ((2, 5, 9, 2), [0, 2, 1, 3]),
]

POSSIBLE = [
    pytest.param(shape, axes, way, id=f"{shape}-{axes}-{name}-{'whole' if whole else 'parts'}")
    for shape, axes in SHAPES
    for name, config in CONFIGS.items()
    for whole in WAYS
    if (swap := swapped(shape, axes, 1))
    and (way := Way(config, whole)).unit(swap)
    and way.cycles(swap) <= 40_000
]
"""Of all, those in which a vector has room for a column, and columns are not far too many."""


def test_every_shape_is_possible_one_way() -> None:
    assert all(swapped(shape, axes, 1) for shape, axes in SHAPES)
    assert {case.values[0] for case in POSSIBLE} == {shape for shape, _ in SHAPES}
    ways = [case.values[2] for case in POSSIBLE]
    assert {way.whole for way in ways if isinstance(way, Way)} == set(WAYS)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "axes", "way"), POSSIBLE)
@pytest.mark.usual(count=25)
def test_both_ways(
    shape: tuple[int, ...], axes: list[int], way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(movement, "best_way", lambda swap, config: way)
    monkeypatch.setattr(movement, "cycles", lambda copies, unit: 1 << 40)
    graph = graph_of(shape, axes)
    stream = expect_golden(graph, way.config)
    assert Opcode.MATRIX in opcodes(stream)
    expect_covered(stream)


@pytest.mark.parametrize(
    ("shape", "axes", "most"),
    [
        # 160,352 by copies, a cycle for each byte. The matrix engine reads 3 vectors for 15 bytes,
        # or 3 for 16, and what is stored is read, too: 30,106 or 28,224 cycles and 9,408.
        ((1, 3, 224, 224), [0, 2, 3, 1], 40_500),
        ((1, 224, 224, 3), [0, 3, 1, 2], 39_000),
        ((1, 3, 32, 32), [0, 2, 3, 1], 1_300),  # 3,634 by copies
        ((64, 4, 4), [0, 2, 1], 430),  # 1,330 by copies
    ],
)
def test_few_rows_or_columns_take_few_cycles(
    shape: tuple[int, ...], axes: list[int], most: int
) -> None:
    graph = graph_of(shape, axes)
    assert sum(estimate_network([compile_stream(graph, PRESETS["base"])]).values()) <= most


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
@pytest.mark.parametrize(
    ("shape", "axes"), [((1, 10, 49, 64), [0, 2, 1, 3]), ((4, 4), [1, 0]), ((7, 40, 64), [1, 0, 2])]
)
def test_copies_where_runs_are_long_or_there_are_few(
    shape: tuple[int, ...], axes: list[int], config: AcceleratorConfig
) -> None:
    assert Opcode.MATRIX not in opcodes(compile_stream(graph_of(shape, axes), config))

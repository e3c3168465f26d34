"""Tokens must order every two commands that conflict, and no command may wait for ever."""

import re
from itertools import pairwise

import numpy as np
import pytest

from eightfold import isa
from eightfold.isa import Space
from eightfold.isa.decode import decode
from eightfold.isa.issued import FURTHEST, distances
from eightfold.sim.machine.accesses import accesses
from eightfold.sim.machine.tokens import OrderError, check_tokens
from eightfold.sim.stimuli.matrix import MatrixRandom
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.command_streams import Item, gather, matrix, move, stream, vector

CONFIG = AcceleratorConfig(
    lanes=4, width=4, port=4, scratchpad=4096, psum_depth=16, weight_buffer=512,
    vector_lanes=2, parameter_banks=4, line_depth=64,
)  # fmt: skip
GATHER = {"source": 500, "target": 900, "run": 4, "step": 10, "limit": 3, "indices": 100}
GATHER |= {"index_size": 2, "count0": 5, "index_stride0": 4, "target_stride0": 4}
LOAD = {"source_space": Space.ARENA, "run": 16}
STORE = {"target_space": Space.ARENA, "run": 16}
TABLE = {"source_space": Space.MODEL, "target_space": Space.TABLES, "target": 1024, "run": 1024}


def weights(buffers: int) -> Item:
    """Return a WEIGHTS of full buffers."""
    return isa.WEIGHTS, {"full": buffers}, "", ""


def parameters(banks: int) -> Item:
    """Return a PARAMETERS of full banks."""
    return isa.PARAMETERS, {"channels": CONFIG.lanes * banks}, "", ""


def dense(wait: str = "", signal: str = "", **fields: int) -> list[Item]:
    """Return a MATRIX that reads 4 bytes at `base` and writes 4 bytes at `target`, and its food."""
    usual = {"last_lanes": 4, "columns": 4}
    return [weights(1), parameters(1), matrix(wait, signal, **usual | fields)]


def food(fields: dict[str, int]) -> list[Item]:
    """Return a MATRIX behind what it takes."""
    passes = fields["groups"] * fields["ky"] * fields["kx"] * fields["kc"]
    banks = [parameters(fields["groups"])] if fields["last"] else []
    return [weights(passes), *banks, matrix("", "", **fields)]


ORDERED: dict[str, list[Item]] = {
    "read after write": [move("", "v", **LOAD), vector("o", "", run=16, target=100)],
    "write after read": [
        vector("", "o", run=16, target=100), move("v", "", **LOAD, target=8),
    ],
    "write after write": [
        vector("", "o", run=16, target=100), move("v", "", **LOAD, target=115),
    ],
    "table": [move("", "v", **TABLE), vector("o", "", lookup_a=1, table_a=1)],
    "softmax's table a": [
        move("", "v", **TABLE), vector("o", "", row=isa.Row.RECIPROCAL, lookup_a=1, table_a=1),
    ],
    "softmax's table b": [
        move("", "v", **TABLE), vector("o", "", row=isa.Row.RECIPROCAL, lookup_b=1, table_b=1),
    ],
    "arena": [move("", "o", **STORE), move("o", "", **LOAD, target=100)],
    "same engine": [
        vector("", "v", run=16, target=100), vector("v", "", source_a=100, target=200),
    ],
    "matrix engine": [*dense("", "a", target=100), *dense("a", "", base=100, target=200)],
    "second operand": [
        *dense("", "v", target=100),
        vector("a", "", combine=isa.Combine.ADD, source_a=300, source_b=103, target=200),
    ],
    "a gather's indices": [
        vector("", "o", run=4, source_a=300, target=116), gather("v", "", **GATHER),
    ],
    "what a gather may choose": [
        vector("", "o", run=1, source_a=300, target=523), gather("v", "", **GATHER),
    ],
    "what a gather wrote": [
        gather("", "v", **GATHER), vector("o", "", source_a=919, target=300),
    ],
    "through a third engine": [
        move("", "a", **LOAD), *dense("o", "v", base=100, target=200),
        vector("a", "", target=300, run=16),
    ],
    "a later command's token": [
        move("", "", **LOAD), move("", "v", **LOAD, target=64), vector("o", "", run=16, target=100),
    ],
    "behind a command without tokens": [
        move("", "", **LOAD), move("", "v", **LOAD, target=64),
        vector("o", "", run=16, source_a=64, target=100),
    ],
    "an earlier command's wait": [
        move("", "v", **LOAD), vector("o", "", run=1, source_a=300, target=100),
        vector("", "", run=16, target=200),
    ],
}  # fmt: skip


@pytest.mark.parametrize("case", ORDERED)
def test_ordered_streams_are_accepted_and_unordered_ones_are_not(case: str) -> None:
    items = ORDERED[case]
    check_tokens(CONFIG, stream(CONFIG, items))
    bare = [(command, fields, "", "") for command, fields, _, _ in items]
    with pytest.raises(OrderError, match="not ordered by tokens"):
        check_tokens(CONFIG, stream(CONFIG, bare))


def test_the_error_shows_both_commands_and_the_bytes() -> None:
    items = [move("", "", **LOAD, target=50), vector("", "", run=16, source_a=60, target=100)]
    expected = (
        "not ordered by tokens: SCRATCHPAD bytes 60..65 (6)\n"
        "writes:     1 MOVE       source_space=ARENA target_space=SCRATCHPAD target=50 run=16\n"
        "reads:     2 VECTOR     combine=A"
    )
    with pytest.raises(OrderError, match=re.escape(expected)):
        check_tokens(CONFIG, stream(CONFIG, items))


FREE: dict[str, list[Item]] = {
    "disjoint": [vector("", "", run=16, target=100), move("", "", **LOAD, target=16)],
    "both read": [move("", "", **STORE), vector("", "", run=16, target=100)],
    "rows of fill": [vector("", "", rows=0, run=16, target=100), move("", "", **LOAD)],
    "columns of fill": [*dense("", "", columns=3, target=100), move("", "", **LOAD, target=3)],
    "unary": [vector("", "", source_b=50, target=100), move("", "", **LOAD, target=50)],
    "no table": [vector("", "", table_a=1, target=100), move("", "", **TABLE)],
    "arena": [move("", "", **STORE), move("", "", **LOAD | {"source": 16}, target=16)],
    "around a gather": [
        gather("", "", **GATHER),
        *(vector(run=1, source_a=300, target=at) for at in (99, 120, 499, 504, 524, 899, 920)),
    ],
    # Weights may run ahead as far as their buffer and queue, and are taken while they are fetched.
    "weights ahead": [*[weights(8)] * 20, parameters(1), matrix(kc=160, columns=4, target=100)],
    "weights taken": [
        weights(200),
        parameters(8),
        matrix(kc=25, groups=8, last_lanes=4, target=100),
    ],
    "vector in place": [vector(run=16)],
    "vector in place, moved down": [vector(run=16, source_a=1)],
    "vector in place, rows": [vector(count0=4, run=3, a_step0=3, target_step0=3)],
    "move in place, moved down": [
        move(run=8, count0=4, source=1, source_stride0=8, target_stride0=8)
    ],
}


@pytest.mark.parametrize("items", FREE.values(), ids=FREE)
def test_accesses_that_do_not_conflict_need_no_tokens(items: list[Item]) -> None:
    check_tokens(CONFIG, stream(CONFIG, items))


UNORDERED: dict[str, tuple[list[Item], str]] = {
    "a token says nothing of later commands": (
        [move("", "v", **LOAD, target=64), move("", "", **LOAD),
         vector("o", "", run=16, target=100)],
        "not ordered by tokens: SCRATCHPAD bytes 0..15",
    ),
    "two tokens of a command count as one command": (
        [move("", "va", **LOAD, target=64), move("", "", **LOAD),
         vector("o", "", run=16, target=100), *dense("o", "", base=200, target=300)],
        "not ordered by tokens: SCRATCHPAD bytes 0..15",
    ),
    # The second VECTOR starts behind the first one, which started behind the MOVE's start only.
    "the order of starts is no order of accesses": (
        [move("", "v", **LOAD, target=64), vector("o", "", source_a=64, target=100),
         vector("", "", source_a=200, target=100)],
        "SCRATCHPAD bytes 100..100",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([move("v", "", **LOAD)], "1 MOVE       wait=vector source_space=ARENA target_space="),
        ([move("v", "v", **LOAD), vector("o", "o")], "waits for a token of MOVER"),
        ([move("", "v", **LOAD), move("v", "", **LOAD)], "waits for a token of VECTOR"),
        ([matrix(last_lanes=4, columns=4)], "waits for 1 of WEIGHTS, 1 of PARAMETERS"),
        ([weights(1), matrix(columns=4)], "waits for 1 of PARAMETERS"),
        ([move("", "v", **LOAD)], "left at END: 1 tokens of MOVER for VECTOR"),
        ([weights(2)], "left at END: 2 of WEIGHTS"),
        ([parameters(2)], "left at END: 2 of PARAMETERS"),
        ([weights(40)], "waits until MATRIX takes what was fetched"),
        (
            [*[weights(8)] * 40, parameters(1), matrix(kc=320, columns=4)],
            "WEIGHTS    full=8\n  has no place in its queue",
        ),
        (
            [*[move("v", "", **LOAD, target=100 * i) for i in range(9)], *[vector("", "o")] * 9],
            "has no place in its queue",
        ),
    ],
)
def test_a_command_that_waits_for_ever_is_named(items: list[Item], text: str) -> None:
    with pytest.raises(OrderError, match=re.escape(text)):
        check_tokens(CONFIG, stream(CONFIG, items))


OVERWRITING: dict[str, tuple[list[Item], str]] = {
    "vector, moved up": ([vector(run=16, target=1)], "bytes 1..15 (15)"),
    "vector, window": (
        [vector(run=4, count0=2, columns=2, window0=2, a_window0=-4, source_a=8, a_step0=4,
                target=8, target_step0=4)],
        "bytes 8..11 (4)",
    ),
    "move, moved up": ([move(run=8, target=4)], "bytes 4..7 (4)"),
    "gather, its indices": ([gather(**GATHER | {"target": 97})], "bytes 100..116 (17)"),
    "gather, its source": ([gather(**GATHER | {"target": 503})], "bytes 503..522 (8)"),
    "move, reversed": (
        [move(run=1, count0=8, source_stride0=1, target=7, target_stride0=-1)], "bytes 4..7 (4)"
    ),
    "a matrix that writes its operands": (dense(target=3), "overwrites SCRATCHPAD bytes 3..3"),
}  # fmt: skip
"""Commands that overwrite what they still read."""


@pytest.mark.parametrize("case", UNORDERED | OVERWRITING)
def test_accesses_that_conflict_are_refused(case: str) -> None:
    items, text = (UNORDERED | OVERWRITING)[case]
    with pytest.raises(OrderError, match=re.escape(text)):
        check_tokens(CONFIG, stream(CONFIG, items))


@pytest.mark.parametrize("seed", range(40))
def test_the_longest_distance_is_accepted_and_no_longer_one(seed: int) -> None:
    """That of the compiler, by spans of bytes, against that of the machine, byte by byte."""
    rng = np.random.default_rng(seed)
    fields = [dict(job.fields) for job in MatrixRandom(CONFIG, rng).jobs(2)]
    for number, (before, own) in enumerate(
        pairwise(fields), 1
    ):  # some of what the one before writes, in any order
        own["base"] = before["target"] - int(rng.integers(-40, 40)) - own["row0"] * own["y_step"]
        own["target"] += 8192 * number
        if rng.random() < 0.5:
            own["column0"], own["x_step"] = own["columns"] - 1, -own["x_step"]
    config = CONFIG.replace(scratchpad=65536)
    found = distances(config, [isa.Matrix(**each) for each in fields])

    def check(apart: list[int]) -> None:
        apart_fields = (each | {"distance": n} for each, n in zip(fields, apart, strict=True))
        check_tokens(config, stream(config, [item for each in apart_fields for item in food(each)]))

    check(found)
    for number, each in enumerate(found):
        for wrong in (0, each + 1) if 0 < each < FURTHEST else ():
            with pytest.raises(OrderError, match="by tokens or distance: vector"):
                check([*found[:number], wrong, *found[number + 1 :]])


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("kind", ["dense", "depthwise", "accumulating"])
def test_a_matrix_touches_the_bytes_of_its_loops(kind: str, seed: int) -> None:
    f = MatrixRandom(CONFIG, np.random.default_rng(seed)).jobs(1, [kind])[0].fields
    command = list(decode(stream(CONFIG, [matrix(**f)])))[1]
    reads, writes = set(), set()
    for g, ky, kx, kc, y, x in np.ndindex(*(f[n] for n in ("groups", "ky", "kx", "kc", "y", "x"))):
        row = g * f["group_step"] + ky * f["ky_step"] + y * f["y_step"]
        number = f["row0"] + ky * f["ky_rows"] + y * f["y_rows"]
        column = f["column0"] + kx * f["kx_step"] + kc * CONFIG.width + x * f["x_step"]
        lanes = f["last_lanes"] if g == f["groups"] - 1 else CONFIG.lanes
        for d in range(lanes if f["depthwise"] else CONFIG.width):
            if 0 <= number < f["rows"] and 0 <= column + d < f["columns"]:
                reads.add(f["base"] + row + column + d)
        oy, late_y = divmod(y - f["fire_y0"], f["fire_y_step"])
        ox, late_x = divmod(x - f["fire_x0"], f["fire_x_step"])
        if f["last"] and oy >= 0 and ox >= 0 and not late_y and not late_x:
            start = f["target"] + g * f["target_group"] + oy * f["target_y"] + ox * f["target_x"]
            writes |= set(range(start, start + lanes))
    found = accesses(CONFIG, command)
    assert found.reads[Space.SCRATCHPAD].tolist() == sorted(reads)
    assert found.writes[Space.SCRATCHPAD].tolist() == sorted(writes)


@pytest.mark.parametrize("seed", range(30))
def test_a_vector_touches_the_bytes_of_its_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    loops = ["count2", "count1", "count0", "window1", "window0"]
    f = {name: int(rng.integers(1, 4)) for name in (*loops, "run", "rows", "columns")}
    steps = [f"{n}_step{i}" for n in ("a", "b", "target") for i in range(3)]
    steps += [f"a_window{i}" for i in range(2)]
    f |= {name: int(rng.integers(-20, 20)) for name in steps}
    axes = [f"{axis}_{kind}" for axis in ("row", "column") for kind in ("step", "window")]
    f |= {name: int(rng.integers(-2, 3)) for name in (*axes, "row0", "column0")}
    f |= {"source_a": 500, "source_b": 1000, "target": 1500, "combine": int(rng.integers(6))}
    f |= {"lookup_a": 0, "lookup_b": 1, "table_a": 0, "table_b": 1}
    command = list(decode(stream(CONFIG, [vector(**f)])))[1]
    reads, writes = set(), set()
    for i2, i1, i0, w1, w0 in np.ndindex(*(f[name] for name in loops)):
        at = {n: sum(i * f[f"{n}_step{k}"] for k, i in enumerate((i0, i1, i2)))
              for n in ("a", "b", "target")}  # fmt: skip
        a = 500 + at["a"] + w1 * f["a_window1"] + w0 * f["a_window0"]
        row = f["row0"] + i1 * f["row_step"] + w1 * f["row_window"]
        column = f["column0"] + i0 * f["column_step"] + w0 * f["column_window"]
        for e in range(f["run"]):
            if 0 <= row < f["rows"] and 0 <= column < f["columns"]:
                reads.add(a + e)
            if f["combine"]:
                reads.add(1000 + at["b"] + e)
            writes.add(1500 + at["target"] + e)
    found = accesses(CONFIG, command)
    assert found.reads[Space.SCRATCHPAD].tolist() == sorted(reads)
    assert found.writes[Space.SCRATCHPAD].tolist() == sorted(writes)
    tables = found.reads.get(Space.TABLES, np.zeros(0)).tolist()
    assert tables == (list(range(1024, 2048)) if f["combine"] else [])

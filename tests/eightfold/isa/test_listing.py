"""A listing names what a command does, on one line, and leaves out what has no meaning."""

import numpy as np
import pytest

from eightfold import isa
from eightfold.isa import Combine, Operand, Row, Space
from eightfold.isa.decode import CommandError, listing
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.command_streams import Item, gather, matrix, move, stream, vector

CONFIG = AcceleratorConfig(
    lanes=4, width=4, port=4, scratchpad=4096, psum_depth=16, weight_buffer=512, vector_lanes=2
)


def lines(*items: Item) -> list[str]:
    """Return the lines between BEGIN and END."""
    return list(listing(stream(CONFIG, items)))[1:-1]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            move("av", "o", source_space=Space.MODEL, source=64, run=9, fill=5),
            "1 MOVE       wait=matrix,vector signal=mover source_space=MODEL "
            "target_space=SCRATCHPAD source=64 run=9",
        ),
        (
            move(source_space=Space.FILL, source=4, fill=5, run=2, count1=3, source_stride1=7,
                 target_stride1=-8, target_stride2=6),
            "1 MOVE       source_space=FILL target_space=SCRATCHPAD fill=5 run=2 count1=3 "
            "target_stride1=-8",
        ),
        (
            gather("v", "a", target_space=Space.ARENA, index_size=2, source=8, run=6, count0=5,
                   target_stride0=6, index_stride0=4, index_stride1=20, step=6, limit=9,
                   indices=100),
            "1 GATHER     wait=vector signal=matrix source_space=SCRATCHPAD target_space=ARENA "
            "index_size=2 source=8 run=6 count0=5 step=6 target_stride0=6 limit=9 indices=100 "
            "index_stride0=4",
        ),
        (
            (isa.WEIGHTS, {"address": 4, "full": 3, "partial_lanes": 1}, "", ""),
            "1 WEIGHTS    address=4 full=3",
        ),
        (
            (isa.PARAMETERS, {"address": 16, "channels": 5, "shared": 1}, "", ""),
            "1 PARAMETERS address=16 channels=5 shared=1",
        ),
        (
            matrix("v", "", groups=2, group_step=4, x=9, x_step=4, y_step=99, columns=36, lead=4,
                   target=100, column0=-4, fill=-128),
            "1 MATRIX     wait=vector groups=2 last_lanes=1 fill=-128 first=1 last=1 x=9 "
            "fire_x_step=1 group_step=4 column0=-4 x_step=4 columns=36 rows=1 target=100",
        ),
        (
            matrix(depthwise=1, last=0, target=100),
            "1 MATRIX     last_lanes=1 first=1 depthwise=1 line=3 rows=1",
        ),
        (
            vector(source_a=3, table_a=1, source_b=9, table_b=2, run=8, requantize__rounding=5),
            "1 VECTOR     combine=A reduce=NONE run=8 source_a=3 rows=1 columns=1 "
            "requantize.rounding=DOWN",
        ),
        (
            vector(combine=Combine.ADD, lookup_b=1, table_b=1, count0=2, b_step0=5,
                   requantize__high=6),
            "1 VECTOR     combine=ADD reduce=NONE operand_b=BYTES lookup_b=1 table_b=1 run=1 "
            "count0=2 b_step0=5 rows=1 columns=1 requantize.rounding=HALF_AWAY requantize.high=6",
        ),
        (
            vector(row=Row.RECIPROCAL, relative=1, lookup_b=1, table_b=1, source_b=5, run=10),
            "1 VECTOR     row=RECIPROCAL relative=1 lookup_b=1 table_b=1 run=10 rows=1 columns=1 "
            "requantize.rounding=HALF_AWAY",
        ),
        (
            vector(combine=Combine.MULTIPLY, operand_b=Operand.WORD, repeat_a=1, run=3),
            "1 VECTOR     combine=MULTIPLY reduce=NONE operand_b=WORD repeat_a=1 run=3 rows=1 "
            "columns=1 requantize.rounding=HALF_AWAY",
        ),
        (
            vector(combine=15),
            "1 VECTOR     combine=15 reduce=NONE operand_b=BYTES run=1 rows=1 columns=1 "
            "requantize.rounding=HALF_AWAY",
        ),
    ],
    ids=["move", "fill", "gather", "weights", "parameters", "dense", "depthwise", "unary", "binary",
         "row", "word", "unknown"],
)  # fmt: skip
def test_a_line_shows_what_has_a_meaning(item: Item, expected: str) -> None:
    assert [line.strip() for line in lines(item)] == [expected]


def test_begin_and_end_have_lines_and_numbers_are_aligned() -> None:
    words = stream(CONFIG, [move(run=1)] * 9)
    found = list(listing(words))
    assert (
        found[0]
        == f"    0 BEGIN      version={isa.VERSION} configuration=0x02040404 memories=0x0209040c"
    )
    assert found[-1] == "   10 END"
    assert len(found) == 11


def test_words_that_are_no_stream_are_refused() -> None:
    with pytest.raises(CommandError, match="command 1: no opcode 0 \\(ILLEGAL_COMMAND\\)"):
        list(listing(np.append(stream(CONFIG, [])[:4], np.zeros(1, np.uint32))))

"""Random VECTOR commands: every operation, geometry and corner that is legal."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from eightfold.isa import ROW_RESULTS, Combine, Opcode, Operand, Reduce, Requantize, Rounding, Row
from eightfold.isa.decode import LOOPS
from eightfold.isa.vector_fields import RowScaling
from eightfold.sim.machine.vector import SUM_RANGES, operand_addresses
from eightfold.target.config import AcceleratorConfig

Fields = dict[str, int]

MOST_ELEMENTS = 1500
"""Elements of a command times the positions of its window, at most."""

COMPARISONS = (Combine.EQUAL.value, Combine.NOT_EQUAL.value)
"""Half of these compare a tensor with itself, since random operands hardly ever are equal."""


def random_tables(rng: np.random.Generator, count: int) -> NDArray[np.int32]:
    """Return int32 tables of shape (count, 256); each has a magnitude of its own."""
    values = rng.integers(-(1 << 31), 1 << 31, (count, 256)) >> rng.integers(0, 31, (count, 1))
    ends = rng.choice([-(1 << 31), (1 << 31) - 1], values.shape)
    return np.where(rng.random(values.shape) < 0.01, ends, values).astype(np.int32)


def row_fields(scaling: RowScaling) -> Fields:
    """Return what an operator on rows sets; its tables are numbers 0 and 1."""
    requantize = {f"requantize.{name}": int(value) for name, value in scaling.requantize.items()}
    return requantize | {
        **{"row": scaling.row.value, "relative": int(scaling.relative), "repeat_a": 0},
        **{"lookup_a": 1, "lookup_b": 1, "table_a": 0, "table_b": 1},
    }


def random_requantize(rng: np.random.Generator) -> Fields:
    """Return fields of the whole range, or, mostly, some that keep small values apart."""
    low, high = sorted(rng.integers(-128, 128, 2).tolist())
    if rng.random() < 0.8:
        low, high = -128, 127
    single = int(rng.integers(2))
    fields = {
        "bias": rng.integers(-(1 << 31), 1 << 31) >> rng.integers(31),
        "left": rng.integers(31),
        "multiplier": rng.integers(1 << 31),
        "single": single,
        "right": rng.integers(63 if single else 32),
    }
    if rng.random() < 0.8:
        fields |= {"bias": rng.integers(-99, 100), "left": rng.integers(4)}
        fields |= {
            "right": rng.integers(24) + 31 * single,
            "multiplier": rng.integers(1 << 30, 1 << 31),
        }
    fields |= {"rounding": rng.choice([mode.value for mode in Rounding])}
    fields |= {"zero_point": rng.integers(-128, 128), "low": low, "high": high}
    return {f"requantize.{name}": int(value) for name, value in fields.items()}


def random_command(
    rng: np.random.Generator,
    config: AcceleratorConfig,
    tables: list[int] | None = None,
    rows: tuple[Row, ...] = (Row.NONE, Row.NONE, Row.NONE, *ROW_RESULTS),
) -> Fields:
    """Return the fields of a legal command.

    ``tables``: numbers of the tables it may use; by default all. ``rows``: what it may do with
    rows.
    """
    numbers = list(range(config.tables)) if tables is None else tables
    while True:
        row = Row(rng.choice([kind.value for kind in rows]))
        fields = _operation(rng, numbers, row) | random_requantize(rng) | _counts(rng)
        if row not in (Row.NONE, *ROW_RESULTS) or (_lasts(fields) and rng.random() < 0.9):
            fields |= {"window0": 1, "window1": 1}
        if np.prod([fields[name] for name in ("run", *LOOPS[Opcode.VECTOR])]) > MOST_ELEMENTS:
            continue
        fields |= _padding(rng) | _sources(rng, config, fields) | _target(rng, config, fields)
        one = fields["window0"] == fields["window1"] == 1
        if row in (Row.MAXIMUM, Row.MINIMUM) and rng.random() < 0.8:
            fields |= _extract(rng, one)
        elif row in (Row.MAXIMUM, Row.MINIMUM) and not one:
            continue  # the element's number has no meaning
        in_place = rng.random() < 0.2 and one and row not in ROW_RESULTS and not fields["repeat_a"]
        if in_place:
            fields |= {f"a_step{i}": fields[f"target_step{i}"] for i in range(3)}
            fields["source_a"] = fields["target"]
        elif row == Row.NONE and fields["combine"] in COMPARISONS and fields["source_a"] % 2:
            fields |= _compared_with_itself(fields)
        if is_legal(config, fields, in_place):
            return fields


def _lasts(fields: Fields) -> bool:
    """Return whether only the last position of a window counts."""
    return fields["row"] == Row.NONE.value and fields["reduce"] == Reduce.NONE.value


def _extract(rng: np.random.Generator, one: bool) -> Fields:
    """Return a requantizer that passes a byte of what MAXIMUM and MINIMUM give."""
    left = int(rng.choice([8, 16, 24] if one else [8]))  # the value, its number's bytes
    return _requantize(Requantize(left=left, multiplier=1, right=24, rounding=Rounding.DOWN))


def _requantize(parameters: Requantize) -> Fields:
    return {f"requantize.{name}": value for name, value in parameters.values().items()}


def is_legal(config: AcceleratorConfig, fields: Fields, in_place: bool = False) -> bool:
    """Return whether a command writes inside of the scratchpad, and nothing that it still reads."""
    single = Row(fields["row"]) in ROW_RESULTS
    target = operand_addresses(fields, "target", "target_step", repeated=single)
    if target.min() < 0 or target.max() >= config.scratchpad:
        return False
    written = np.zeros(config.scratchpad, dtype=bool)
    written[target] = True
    if in_place and np.count_nonzero(written) != target.size:
        return False
    reads = _window_reads(fields, "b", fields["operand_b"] != Operand.BYTES.value)
    if fields["operand_b"] == Operand.WORD.value:
        reads = [address + np.arange(4) for address in reads]
    if not in_place:
        reads += _window_reads(fields, "a", bool(fields["repeat_a"]))
    return not any(written[read % config.scratchpad].any() for read in reads)


def _window_reads(fields: Fields, operand: str, repeated: bool) -> list[NDArray[np.int64]]:
    """Return the addresses of an operand at each position of the window."""
    base = operand_addresses(fields, f"source_{operand}", f"{operand}_step", repeated)
    return [
        base + w1 * fields[f"{operand}_window1"] + w0 * fields[f"{operand}_window0"]
        for w1 in range(fields["window1"])
        for w0 in range(fields["window0"])
    ]


def _operation(rng: np.random.Generator, tables: list[int], row: Row) -> Fields:
    return {
        # One operand is read fastest: only then do beats of a window follow each other closely.
        "combine": int(rng.choice([Combine.A.value, *(combine.value for combine in Combine)])),
        "reduce": int(rng.choice([reduce.value for reduce in Reduce])),
        "row": row.value,
        "relative": int(rng.integers(2)) if row in SUM_RANGES else 0,
        "operand_b": int(rng.choice([0, 0, *(operand.value for operand in Operand)])),
        # A row is more than one byte; where its reads end must be known before targets are drawn.
        "repeat_a": int(rng.random() < 0.2 and row == Row.NONE),
        "lookup_a": int(rng.integers(2)),
        "lookup_b": int(rng.integers(2)),
        "table_a": int(rng.choice(tables)),
        "table_b": int(rng.choice(tables)),
        "fill": int(rng.integers(-128, 128)),
    }


def _counts(rng: np.random.Generator) -> Fields:
    counts = {f"count{i}": int(rng.choice([1, 1, 2, 3, 5])) for i in range(3)}
    windows = {f"window{i}": int(rng.choice([1, 2, 3])) for i in range(2)}
    return counts | windows | {"run": int(rng.integers(1, rng.choice([5, 10, 101])))}


def _padding(rng: np.random.Generator) -> Fields:
    """Return row and column numbers: all inside, some, or from the ends of the ranges."""
    fields = {}
    for axis in ("row", "column"):
        choices: list[Callable[[], tuple[int, ...]]] = [
            lambda: (0, 1, 0, 0),
            lambda: tuple(int(rng.integers(*ends)) for ends in ((-3, 3), (0, 6), (-2, 3), (-2, 3))),
            lambda: (-32768, 65535, 32767, 1),
            lambda: (32767, int(rng.integers(32768, 32771)), 1, -32768),
        ]
        first, count, step, window = choices[rng.choice(4, p=[0.35, 0.45, 0.1, 0.1])]()
        fields |= {f"{axis}0": first, f"{axis}s": count}
        fields |= {f"{axis}_step": step, f"{axis}_window": window}
    return fields


def _sources(rng: np.random.Generator, config: AcceleratorConfig, fields: Fields) -> Fields:
    """Return addresses of the operands: anything, since reads wrap; often one run after another."""
    result = {}
    for operand in ("a", "b"):
        steps = {}
        size = fields["run"]
        for i in range(3):
            choices = [size, size + rng.integers(9), 0, -size, rng.integers(-999, 1000)]
            step = int(rng.choice(choices, p=[0.5, 0.2, 0.1, 0.1, 0.1]))
            steps[f"{operand}_step{i}"] = step
            size = abs(step) * fields[f"count{i}"] if step else size
        result |= steps
        result[f"source_{operand}"] = int(
            rng.choice([rng.integers(config.scratchpad), rng.integers(-40, 0)], p=[0.8, 0.2])
        )
    windows = {f"{side}_window{i}": int(rng.integers(-200, 200)) for i in range(2) for side in "ab"}
    return result | windows


def _target(rng: np.random.Generator, config: AcceleratorConfig, fields: Fields) -> Fields:
    """Return addresses of the results: the loops nested in any order, with gaps."""
    steps = {}
    size = fields["run"]
    for i in rng.permutation(3):
        step = size + int(rng.choice([0, int(rng.integers(9))]))
        steps[f"target_step{i}"] = step
        size = step * fields[f"count{i}"]
    last = max(1, config.scratchpad - size + 1)
    base = int(rng.choice([int(rng.integers(last)), last - 1, 0], p=[0.8, 0.1, 0.1]))
    if rng.random() < 0.2:  # from the end
        name = f"target_step{rng.integers(3)}"
        base += steps[name] * (fields[f"count{name[-1]}"] - 1)
        steps[name] = -steps[name]
    return {"target": base} | steps


def _compared_with_itself(fields: Fields) -> Fields:
    """Return what makes operand b the bytes of a, and the requantizer pass what is found."""
    same = {
        name.replace("a", "b", 1) if name.startswith("a_") else "source_b": value
        for name, value in fields.items()
        if name == "source_a" or name.startswith("a_")
    }
    bytes_ = {"operand_b": Operand.BYTES.value, "repeat_a": 0, "lookup_a": 0, "lookup_b": 0}
    return same | _requantize(Requantize()) | bytes_

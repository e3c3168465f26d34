"""A small program that uses every engine, every fetcher and every kind of memory access."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.common.files import IMPORT_ROOT
from eightfold.isa import Space
from eightfold.sim.machine.explain import explain_arena
from eightfold.sim.machine.machine import Machine
from eightfold.sim.stimuli.beats import records, requantize_fields
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.command_streams import Item, gather, matrix, move, stream, vector

CONFIG = AcceleratorConfig.load(IMPORT_ROOT / "tests" / "configs" / "little-fits.toml")
WEIGHTS = 0
PARAMETERS = 64
TABLE = 128
INDICES = 128 + 1024
MODEL_BYTES = 128 + 1024 + 32
ARENA_BYTES = 300

FIRST = 1
"""Index of the first item: BEGIN is 0."""

ITEMS: dict[str, Item] = {
    "weights": (isa.WEIGHTS, {"address": WEIGHTS, "full": 1}, "", ""),
    "parameters": (isa.PARAMETERS, {"address": PARAMETERS, "channels": 4}, "", ""),
    "table": move(
        "", "v", source_space=Space.MODEL, target_space=Space.TABLES, source=TABLE, run=1024
    ),
    "load": move("", "a", source_space=Space.ARENA, source=5, target=7, run=32),
    "matrix": matrix(
        "o", "v", last_lanes=4, x=8, base=7, x_step=4, columns=32, target=1024, target_x=4
    ),
    "vector": vector(
        "oa",
        "o",
        combine=isa.Combine.ADD,
        lookup_a=1,
        source_a=1024,
        source_b=7,
        run=32,
        target=2050,
        requantize__multiplier=1 << 30,
        requantize__single=1,
        requantize__right=34,
    ),
    "store": move("v", "", target_space=Space.ARENA, source=2050, target=101, run=32),
    "indices": move("", "o", source_space=Space.MODEL, source=INDICES, target=3001, run=32),
    "gather": gather(
        "o",
        "",
        target_space=Space.ARENA,
        source=2050,
        target=201,
        run=4,
        count0=5,
        target_stride0=7,
        step=4,
        limit=8,
        indices=3001,
        index_size=2,
        index_stride0=4,
    ),
}
"""Commands by a name; what they compute is not worth a word."""

INDEX = {name: FIRST + number for number, name in enumerate(ITEMS)}
"""Index of each command."""


def program(**changes: Item) -> NDArray[np.uint32]:
    """Return the program's words, with some commands replaced."""
    return stream(CONFIG, (ITEMS | changes).values())


def changed(name: str, **fields: int) -> dict[str, Item]:
    """Return one command with other fields, to replace it."""
    command, values, wait, signal = ITEMS[name]
    return {name: (command, values | fields, wait, signal)}


def random_model(rng: np.random.Generator) -> bytes:
    """Return weights, parameters, a table, and int32 indices: 5 in 0..7, then others."""
    model = rng.integers(0, 256, MODEL_BYTES, dtype=np.uint8)
    stored = records(requantize_fields(rng, 4))
    model[PARAMETERS : PARAMETERS + len(stored)] = list(stored)
    model[TABLE:INDICES] = (model[TABLE:INDICES].view("<i4") >> 20).view(np.uint8)
    model[INDICES:].view("<i4")[:] = [*rng.integers(0, 8, 5), -1, 3, 1]
    return model.tobytes()


def run_model(
    words: NDArray[np.uint32], model: bytes, arena: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """Return the arena after a run of the machine model."""
    machine = _machine(Machine, model, arena)
    machine.run(words)
    return machine.spaces[Space.ARENA]


def assert_arena(
    actual: NDArray[np.uint8],
    words: NDArray[np.uint32],
    model: bytes,
    arena: NDArray[np.uint8],
    where: str = "",
) -> None:
    """Raise AssertionError unless a run has left what `run_model` returns.

    The message follows the first wrong byte back through the commands that make it.
    """
    expected = run_model(words, model, arena)
    wrong = np.flatnonzero(actual != expected)
    if not wrong.size:
        return
    first = int(wrong[0])
    text = (
        f"{where}arena: byte {first} of {len(expected)} differs: got {actual[first].view(np.int8)},"
        f" expected {expected[first].view(np.int8)}; {wrong.size} bytes differ"
    )
    make = partial(_machine, model=model, arena=arena)
    raise AssertionError("\n  ".join([text, *explain_arena(make, words, first)]))


def _machine(kind: type[Machine], model: bytes, arena: NDArray[np.uint8]) -> Machine:
    start = -(-len(model) // CONFIG.port) * CONFIG.port
    memory = np.zeros(start + len(arena), np.uint8)
    memory[: len(model)] = list(model)
    memory[start:] = arena
    return kind(CONFIG, memory, (0, len(model)), (start, len(arena)))

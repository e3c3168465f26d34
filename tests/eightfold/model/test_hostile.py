"""Damaged and hostile files give a graph or an `InputError`, in bounded time and memory.

The files are read in a child process (this module, run as a program) under limits of the operating
system on memory and processor time, so that a failure is a failed test and not a dead machine.
"""

import random
import resource
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import flatbuffers
import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from eightfold.model import Graph, read_model
from eightfold.model.builder import ModelBuilder

_ROOT = IMPORT_ROOT
_MEMORY = 1 << 30  # bytes of address space that reading may add to what the imports took
_SECONDS = 2.0  # of processor time for one file
_WORDS = (0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, 0x10000, 0xFFFFFFF0)
_OF_TENSORS, _OF_OPERATORS = ("name", "scale"), ("inputs", "new_shape")
_REPEATED = ("tensors", "operators", "operator_codes", "subgraphs", "buffers")


def _model() -> bytes:
    rng = np.random.default_rng(0)
    b = ModelBuilder("a description")
    x = b.input((1, 4, 4, 2), scale=0.5, zero_point=3)
    w = b.constant(rng.integers(-128, 128, (3, 1, 1, 2), np.int8), scale=[0.5, 0.25, 1.0])
    c = b.constant(rng.integers(-9, 9, 3, np.int32), scale=[0.25, 0.125, 0.5])
    y = b.tensor((1, 4, 4, 3), scale=0.5)
    b.operator("CONV_2D", [x, w, c], [y], {"stride_w": 1, "stride_h": 1})
    z = b.tensor((1, 48), scale=0.5)
    b.operator("RESHAPE", [y, -1], [z], {"new_shape": [1, 48]})
    p = b.tensor((1, 48), scale=1 / 256, zero_point=-128)
    b.operator("SOFTMAX", [z], [p], {"beta": 1.0})
    b.output(p)
    return b.build()


def _flips(seed: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    model = _model()
    for _ in range(500):
        changed = bytearray(model)
        for _ in range(rng.choice((1, 2, 4, 16))):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        yield bytes(changed)


def _truncations(seed: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    model = _model()
    for length in [*range(0, len(model), 7), *(rng.randrange(len(model)) for _ in range(100))]:
        yield model[:length]


def _words(seed: int) -> Iterator[bytes]:
    """Overwrite each aligned word, which is where offsets, lengths, shapes and indices are."""
    rng = random.Random(seed)
    model = _model()
    for position in range(0, len(model) - 3, 4):
        for word in (*rng.sample(_WORDS, 3), len(model) - rng.randrange(-8, len(model))):
            yield model[:position] + struct.pack("<I", word) + model[position + 4 :]


def _halves(seed: int) -> Iterator[bytes]:
    """Overwrite 16-bit words: the entries of the vtables."""
    rng = random.Random(seed)
    model = _model()
    for position in range(0, len(model) - 1, 2):
        word = rng.choice((0, 1, 2, 3, 4, 5, 0x7FFF, 0x8000, 0xFFFF, rng.randrange(200)))
        yield model[:position] + struct.pack("<H", word) + model[position + 2 :]


def _noise(seed: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    for _ in range(300):
        size = rng.choice((8, 9, 30, 100, 1000, 100000))
        yield struct.pack("<I", rng.randrange(4, 40)) + b"TFL3" + rng.randbytes(size)
        yield rng.randbytes(size)


def _multipliers(seed: int) -> Iterator[bytes]:
    """Small files that describe much: vectors with many references to the same table."""
    rng = random.Random(seed)
    for count in (3000, 16000, 80000):
        for field in (*_REPEATED, *_OF_TENSORS, *_OF_OPERATORS):
            yield _repeated(field, count + rng.randrange(9))


def _repeated(field: str, count: int) -> bytes:
    """Write a model with one vector of ``count`` elements, all the same table where possible.

    Where the vector belongs to a tensor or an operator, 3000 of those share it.
    """
    b = flatbuffers.Builder(1 << 20)

    in_tensor, in_operator = field in _OF_TENSORS, field in _OF_OPERATORS
    sizes = {"tensors": 3000 if in_tensor else 1, "operators": 3000 if in_operator else 1}
    sizes[field] = count

    def references(name: str, table: int) -> int:
        number = sizes.get(name, 1)
        b.Prep(4, 4 * number)
        distances = b.Offset() - table + 4 * np.arange(number, 0, -1)
        return b.CreateNumpyVector(distances.astype(np.uint32))

    def numbers(name: str, value: int, dtype: type) -> int:
        return b.CreateNumpyVector(np.full(sizes.get(name, 1), value, dtype))

    def table(slots: dict[int, tuple[str, int]]) -> int:
        b.StartObject(12)
        for slot, (kind, value) in slots.items():
            getattr(b, f"Prepend{kind}Slot")(slot, value, 0)
        return b.EndObject()

    def offset(position: int) -> tuple[str, int]:
        return "UOffsetTRelative", position

    scales, zero_points = numbers("scale", 1, np.float32), numbers("scale", 0, np.int64)
    scale = table({2: offset(scales), 3: offset(zero_points)})
    name = b.CreateString("n" * sizes.get("name", 1))
    shape = b.CreateNumpyVector(np.array([sizes.get("scale", 1)], np.int32))
    tensor = table({0: offset(shape), 1: ("Int8", 9), 3: offset(name), 4: offset(scale)})
    tensors = references("tensors", tensor)
    inputs = numbers("inputs", -1, np.int32)
    new_shape = table({0: offset(numbers("new_shape", 1, np.int32))})
    operator = table({1: offset(inputs), 3: ("Uint8", 17), 4: offset(new_shape)})
    operators = references("operators", operator)
    subgraph = table({0: offset(tensors), 3: offset(operators)})
    subgraphs = references("subgraphs", subgraph)
    codes = references("operator_codes", table({0: ("Int8", 22), 3: ("Int32", 22)}))
    buffers = references("buffers", table({}))
    model = {0: ("Uint32", 3), 1: offset(codes), 2: offset(subgraphs), 4: offset(buffers)}
    b.Finish(table(model), b"TFL3")
    return bytes(b.Output())


_KINDS = {
    each.__name__[1:]: each
    for each in (_flips, _truncations, _words, _halves, _noise, _multipliers)
}


def _judge(content: bytes) -> tuple[bool, str]:
    """Read one file; return whether it gave a graph, and what is wrong (empty if nothing)."""
    graph, fault = None, ""
    start = time.process_time()
    try:
        graph = read_model(content)
    except InputError as error:
        fault = "" if len(str(error).splitlines()) == 1 else f"not one line: {error!r}"
    except BaseException as error:
        fault = repr(error)
    seconds = time.process_time() - start
    if seconds > _SECONDS:
        fault = fault or f"{seconds} s"
    return graph is not None, fault or (_fault(graph) if graph else "")


def _fault(graph: Graph) -> str:
    for tensor in graph.tensors:
        if min(tensor.shape, default=0) < 0:
            return f"{tensor}: shape {tensor.shape}"
        if tensor.data is not None:
            tensor.data.copy()
            if (tensor.data.shape, tensor.data.dtype) != (tensor.shape, tensor.dtype):
                return f"{tensor}: data of shape {tensor.data.shape}, {tensor.data.dtype}"
    indices = [*graph.inputs, *graph.outputs]
    for operator in graph.operators:
        indices += [*(i for i in operator.inputs if i != -1), *operator.outputs]
    return "" if all(0 <= i < len(graph.tensors) for i in indices) else f"indices {indices}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.usual(count=3)
def test_hostile_file_gives_a_graph_or_one_line(kind: str, seed: int) -> None:
    command = [sys.executable, "-m", "tests.eightfold.model.test_hostile", kind, str(seed)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stdout}{done.stderr}"
    read, refused = map(int, done.stdout.split())
    assert refused > 10
    assert read + refused > 15


def test_the_unchanged_files_are_read() -> None:
    assert len(read_model(_model()).operators) == 3
    assert len(read_model(_repeated("tensors", 1000)).tensors) == 1000


def _main() -> int:
    kind, seed = sys.argv[1:]
    read_model(_model())  # imports are done
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + _MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
    outcomes = Counter()
    for number, content in enumerate(_KINDS[kind](int(seed))):
        is_read, fault = _judge(content)
        if fault:
            print(f"file {number} of {kind}, seed {seed}: {fault}")
            return 1
        outcomes[is_read] += 1
    print(outcomes[True], outcomes[False])
    return 0


if __name__ == "__main__":
    sys.exit(_main())

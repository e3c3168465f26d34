"""The C library as tests use it: compiled, loaded, and its primitives on arrays."""

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from eightfold.conformance.c import SOURCES, c_files
from eightfold.golden.errors import AbortedError, RejectedError, SpecError, UndefinedError
from eightfold.golden.fixed_point import INT32_MAX, INT32_MIN

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")

LOOPS = Path(__file__).parent / "loops.c"
INCLUDED = "eightfold_sigmoids.c"
"""Of the sources, what `LOOPS` includes."""

STATUSES: dict[int, type[SpecError] | None] = {
    0: None,
    1: RejectedError,
    2: AbortedError,
    3: UndefinedError,
}
"""What golden raises for each ``enum eightfold_status``; of 4, nothing."""

REFUSED = INT32_MIN

RANGES = {
    "left": (0, 30),
    "multiplier": (0, INT32_MAX),
    "single": (0, 1),
    "right": (0, 62),
    "rounding": (0, 6),
    "zero_point": (-128, 127),
    "low": (-128, 127),
    "high": (-128, 127),
}
"""Of the requantizer's arguments; a pair's ``right`` ends at 31, and ``low`` at ``high``."""

FIELDS = ("acc", "bias", *RANGES)
"""Arguments of ``eightfold_requantize`` in their order."""


def _integers(*names: str) -> tuple[tuple[str, type[ctypes.c_int32]], ...]:
    return tuple((name, ctypes.c_int32) for name in names)


class Quantization(ctypes.Structure):
    _fields_ = (("scale", ctypes.c_float), ("zero_point", ctypes.c_int32))


class Binary(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_int),
        ("zero_points", ctypes.c_int32 * 2),
        ("multipliers", ctypes.c_int32 * 2),
        ("shifts", ctypes.c_int32 * 2),
        *_integers("multiplier", "shift", "zero_point", "low", "high"),
    )


class Axis(ctypes.Structure):
    _fields_ = _integers("kernel", "stride", "dilation")


class Window(ctypes.Structure):
    _fields_ = (("vertical", Axis), ("horizontal", Axis), ("padding", ctypes.c_int))


class Image(ctypes.Structure):
    _fields_ = _integers("batches", "height", "width", "channels")


class Filter(ctypes.Structure):
    _fields_ = (
        ("codes", ctypes.c_void_p),
        ("outputs", ctypes.c_int32),
        ("depth", ctypes.c_int32),
        ("scales", ctypes.c_void_p),
        ("scale_count", ctypes.c_int32),
        ("zero_point", ctypes.c_int32),
    )


run_program = partial(subprocess.run, capture_output=True, text=True)
"""Runs a program; returns what it printed."""


def compiler(name: str = "cc") -> str:
    """Return the compiler's path, or skip the test."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"no {name} is installed: apt-get install gcc g++")
    return path


def build(folder: Path, *flags: str, sources: Path = SOURCES) -> Path:
    """Compile the sources and the tests' loops, with every warning an error; return the library."""
    library = folder / "eightfold_golden.so"
    names = [name for name in c_files() if name != INCLUDED]
    files = [*(str(sources / name) for name in names), str(LOOPS)]
    command = [compiler(), *STRICT, "-O1", *flags, "-fPIC", "-shared", f"-I{sources}", *files]
    done = run_program([*command, "-o", str(library), "-lm"])
    assert (done.returncode, done.stderr) == (0, "")
    return library


def pointer(array: np.ndarray | None) -> ctypes.c_void_p | None:
    """Return where an array lies, which must be contiguous."""
    if array is None:
        return None
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


class Library:
    """The loaded library; the primitives take and return int64 arrays."""

    def __init__(self, path: Path) -> None:
        self.functions = ctypes.CDLL(str(path))

    def call(self, name: str, *arguments: object) -> int:
        """Call ``eightfold_<name>``, and return its status."""
        return int(self.functions[f"eightfold_{name}"](*arguments))

    def count(self, name: str, *arguments: object) -> int:
        """Call ``eightfold_<name>``, and return its int64."""
        function = self.functions[f"eightfold_{name}"]
        function.restype = ctypes.c_int64
        return function(*arguments)

    def loop(self, name: str, *operands: ArrayLike) -> NDArray[np.int64]:
        """Return ``loop_<name>`` of the broadcast operands."""
        arrays = np.broadcast_arrays(*(np.asarray(each, dtype=np.int64) for each in operands))
        columns = [np.asarray(array, order="C") for array in arrays]
        out = np.empty(arrays[0].shape, dtype=np.int64)
        pointers = [pointer(column) for column in columns]
        self.functions[f"loop_{name}"](ctypes.c_size_t(out.size), *pointers, pointer(out))
        return out

    def requantize(self, fields: dict[str, NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return ``eightfold_requantize`` of every case."""
        columns = np.array([fields[name] for name in FIELDS], dtype=np.int64)
        out = np.empty(columns.shape[1], dtype=np.int64)
        count = ctypes.c_size_t(out.size)
        self.functions.loop_requantize(count, pointer(columns), pointer(out))
        return out

    def quantize_multiplier(self, reals: Sequence[float] | NDArray[np.float64]) -> NDArray:
        """Return status, multiplier and shift of each real, shape (3, n)."""
        real = np.asarray(reals, dtype=np.float64, order="C")
        out = np.empty((3, real.size), dtype=np.int64)
        self.functions.loop_quantize_multiplier(
            ctypes.c_size_t(real.size), pointer(real), *(pointer(row) for row in out)
        )
        return out

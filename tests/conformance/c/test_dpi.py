"""The scalar functions called from SystemVerilog, through DPI-C, on Verilator."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.c import PACKAGE, write_golden_c
from eightfold.golden.fixed_point import (
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_pot,
    srdhm,
)
from eightfold.golden.rounding import rounding_shift
from eightfold.sim.benches import requantizer as requantize
from eightfold.sim.simulator.toolchain import check_simulator, tool_environment
from tests.support.golden_c.library import FIELDS

BENCH = Path(__file__).parent / "dpi_bench.sv"


def simulate(folder: Path, bench: Path) -> list[str]:
    """Build a bench with the C library in Verilator, run it in ``folder``; return its lines."""
    try:
        check_simulator("verilator")
    except InputError as error:
        pytest.skip(str(error))
    sources = folder / "golden-c"
    files = [path for path in write_golden_c(sources) if path.suffix == ".c"]
    environment = os.environ | tool_environment()
    command = ["verilator", "--binary", "-j", "1", "-Wall", "-Wno-DECLFILENAME", "--top-module"]
    command += [bench.stem, "--Mdir", str(folder / "build")]
    command += ["-MAKEFLAGS", "OPT_FAST=-O0 OPT_GLOBAL=-O0"]  # a second of simulation
    command += [str(path) for path in (sources / PACKAGE, bench, *files)]
    built = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=folder
    )
    assert built.returncode == 0, built.stderr[-3000:] + built.stdout[-3000:]
    done = subprocess.run(
        [folder / "build" / f"V{bench.stem}"],
        capture_output=True, text=True, check=True, cwd=folder,
    )  # fmt: skip
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.long
def test_systemverilog_gets_what_golden_computes(tmp_path: Path, first_seed: int) -> None:
    rng = np.random.default_rng(first_seed)
    parts = [
        requantize.tie_cases(rng, 1),
        requantize.take(requantize.wrap_cases(rng), slice(None, None, 20)),
        requantize.random_cases(rng, 400),
    ]
    cases = {name: np.concatenate([part[name] for part in parts]) for name in FIELDS}
    rows = np.array([cases[name] for name in FIELDS]).T
    np.savetxt(tmp_path / "cases.txt", rows, fmt="%d")
    *lines, last = (
        line for line in simulate(tmp_path, BENCH) if line.startswith(("result", "refused"))
    )
    found = np.array([line.split()[1:] for line in lines], dtype=np.int64)
    acc, multiplier, left, right = (cases[n] for n in ("acc", "multiplier", "left", "right"))
    expected = [
        requantize.expected_results(cases),
        srdhm(acc, multiplier),
        rounding_shift(acc * multiplier, right, cases["rounding"]),
        multiply_by_quantized_multiplier(acc, multiplier, left),
        multiply_by_quantized_multiplier(acc, multiplier, -left, single=True),
        rounding_divide_by_pot(acc, left),
        np.zeros_like(acc),
        *quantize_multiplier(acc / 1024),
    ]
    assert len(found) > 500
    np.testing.assert_array_equal(found, np.array(expected).T)
    assert last == "refused 1 -2147483647"

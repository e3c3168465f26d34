"""The C library as others use it: docs/golden-c.md's examples, and SystemVerilog through DPI-C."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from eightfold.conformance.c import HEADER, PACKAGE, SOURCES, c_files, write_golden_c
from eightfold.golden.fixed_point import (
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_pot,
    srdhm,
)
from eightfold.golden.rounding import rounding_shift
from eightfold.sim.benches import requantizer as requantize
from eightfold.sim.simulator.toolchain import check_simulator, tool_environment
from tests.support.golden_c.library import FIELDS, STRICT, compiler, run_program

PAGE = (IMPORT_ROOT / "docs" / "golden-c.md").read_text("utf-8")


def block(language: str) -> str:
    """Return the page's only example in a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return found


def verilator(folder: Path, *arguments: str | Path) -> str:
    """Run Verilator in a folder, return what it complains of; skip where there is none."""
    try:
        check_simulator("verilator")
    except InputError as error:
        pytest.skip(str(error))
    command = ["verilator", *map(str, arguments)]
    done = run_program(command, cwd=folder, env=os.environ | tool_environment())
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-3000:]
    return done.stderr


def test_the_example_in_c(tmp_path: Path) -> None:
    write_golden_c(tmp_path / "golden-c")
    (tmp_path / "my_model.c").write_text(block("c"), "utf-8")
    files = [f"golden-c/{name}" for name in c_files()]
    command = [compiler(), *STRICT, "-O2", "-Igolden-c", "my_model.c", *files, "-lm"]
    subprocess.run(command, check=True, cwd=tmp_path)
    done = run_program([tmp_path / "a.out"], check=True)
    (said,) = re.findall(r"^prints `(.+)` twice", PAGE, re.MULTILINE)
    assert done.stdout.split() == [said, said]


def test_the_example_in_systemverilog(tmp_path: Path) -> None:
    write_golden_c(tmp_path)
    (tmp_path / "requantizer_checker.sv").write_text(block("systemverilog"), "utf-8")
    assert verilator(tmp_path, "--lint-only", "-Wall", PACKAGE, "requantizer_checker.sv") == ""


def test_every_file_is_described() -> None:
    assert re.findall(r"^\| `(eightfold_\w+\.c)`", PAGE, re.MULTILINE) != []
    assert sorted(re.findall(r"^\| `(eightfold_\w+\.c)`", PAGE, re.MULTILINE)) == c_files()
    assert HEADER in PAGE and PACKAGE in PAGE


def test_the_package_has_the_header_s_names_and_numbers() -> None:
    """Rounding modes, and the arguments of every function that it imports."""
    header, package = ((SOURCES / name).read_text("utf-8") for name in (HEADER, PACKAGE))
    modes = re.findall(r"(EIGHTFOLD_\w+)\s+= (\d),?\n", package)
    numbers = dict(re.findall(r"(EIGHTFOLD_\w+) = (\d)", header))
    assert len(modes) == 7
    assert all(numbers[name] == number for name, number in modes)
    types = {"int": "int32_t", "longint": "int64_t", "real": "double"}
    imports = re.findall(r"function (\w+) (eightfold_\w+)\(([^)]*)\);", package)
    assert len(imports) == package.count('import "DPI-C"') == 8
    for result, name, arguments in imports:
        words = [each.split() for each in arguments.split(",")]
        in_c = [f"{types[kind]} {'*' * (way == 'output')}{name}" for way, kind, name in words]
        declared = " ".join(
            re.findall(rf"^(.*\b{name}\([^)]*\));", header, re.MULTILINE)[0].split()
        )
        kind, _, rest = declared.partition(f" {name}")
        assert kind in (types[result], "enum eightfold_status")
        assert rest == f"({', '.join(in_c)})"


BENCH = Path(__file__).parent / "dpi_bench.sv"


def simulate(folder: Path, bench: Path) -> list[str]:
    """Build a bench with the C library in Verilator, run it in ``folder``; return its lines."""
    sources = folder / "golden-c"
    files = [path for path in write_golden_c(sources) if path.suffix == ".c"]
    options = ["--binary", "-j", "1", "-Wall", "-Wno-DECLFILENAME", "--top-module", bench.stem]
    options += ["-MAKEFLAGS", "OPT_FAST=-O0 OPT_GLOBAL=-O0"]  # a second of simulation
    verilator(folder, *options, "--Mdir", "build", sources / PACKAGE, bench, *files)
    done = run_program([folder / "build" / f"V{bench.stem}"], check=True, cwd=folder)
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

"""The examples of docs/golden-c.md, as a reader would type them."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from eightfold.conformance.c import HEADER, PACKAGE, SOURCES, c_files, write_golden_c
from eightfold.sim.simulator.toolchain import check_simulator, tool_environment
from tests.support.golden_c.library import STRICT, compiler

PAGE = (IMPORT_ROOT / "docs" / "golden-c.md").read_text("utf-8")


def block(language: str) -> str:
    """Return the page's only example in a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return found


def test_the_example_in_c(tmp_path: Path) -> None:
    write_golden_c(tmp_path / "golden-c")
    (tmp_path / "my_model.c").write_text(block("c"), "utf-8")
    files = [f"golden-c/{name}" for name in c_files()]
    command = [compiler(), *STRICT, "-O2", "-Igolden-c", "my_model.c", *files, "-lm"]
    subprocess.run(command, check=True, cwd=tmp_path)
    done = subprocess.run([tmp_path / "a.out"], capture_output=True, text=True, check=True)
    (said,) = re.findall(r"^prints `(.+)` twice", PAGE, re.MULTILINE)
    assert done.stdout.split() == [said, said]


def test_the_example_in_systemverilog(tmp_path: Path) -> None:
    try:
        check_simulator("verilator")
    except InputError as error:
        pytest.skip(str(error))
    write_golden_c(tmp_path)
    (tmp_path / "requantizer_checker.sv").write_text(block("systemverilog"), "utf-8")
    done = subprocess.run(
        ["verilator", "--lint-only", "-Wall", PACKAGE, "requantizer_checker.sv"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env=os.environ | tool_environment(),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


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

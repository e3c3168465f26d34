"""The C library computes exactly what golden computes."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from eightfold.conformance.c import HEADER, SOURCES, c_files, contract_files
from eightfold.conformance.judge.contracts import contract_cases
from eightfold.golden.quantization import Reference
from eightfold.sim.benches import requantizer as requantize
from tests.support.conformance.requantizations import kept
from tests.support.golden_c import checks
from tests.support.golden_c.library import (
    FIELDS,
    RANGES,
    REFUSED,
    STRICT,
    Library,
    build,
    compiler,
    run_program,
)

MODELS = 60
"""Random models of each operator in the short run."""


@pytest.mark.parametrize("check", checks.PRIMITIVES, ids=lambda check: check.__name__[6:])
@pytest.mark.slow
def test_primitives_equal_golden(
    check: Callable[[Library, np.random.Generator], None], library: Library, first_seed: int
) -> None:
    check(library, np.random.default_rng(first_seed))


@pytest.mark.parametrize("count", [MODELS, pytest.param(300, marks=pytest.mark.long)])
@pytest.mark.parametrize(("name", "reference"), checks.CHECKED)
@pytest.mark.slow
def test_operators_equal_golden(
    name: str, reference: Reference, count: int, library: Library
) -> None:
    assert checks.check_operator(library, name, reference, count) > count


def test_requantize_refuses_what_golden_refuses(library: Library) -> None:
    """Each argument, just inside its range and just outside."""
    inside = dict.fromkeys(FIELDS, 0) | {"low": -128, "high": 127}
    for name, (low, high) in (RANGES | {"right": (0, 31)}).items():
        for value in (low - 1, low, high, min(high + 1, 2**31 - 1)):
            case = {key: np.array([number]) for key, number in (inside | {name: value}).items()}
            try:
                expected = requantize.expected_results(case)[0]
            except ValueError:
                expected = REFUSED
            assert library.requantize(case)[0] == expected, (name, value)
    longest = {key: np.array([n]) for key, n in (inside | {"single": 1, "right": 63}).items()}
    assert library.requantize(longest)[0] == REFUSED


def test_primitives_give_0_out_of_range(library: Library) -> None:
    ends = np.array([-(2**31), -32, 32, 2**31 - 1])
    for name in ("multiply", "multiply_single"):
        np.testing.assert_array_equal(library.loop(name, -1, 2**31 - 1, ends), 0)
    assert library.loop("multiply_single", -1, 2**31 - 1, 31) == 0
    for e in (-(2**31), -1, 32, 2**31 - 1):
        assert library.loop("rounding_divide_by_pot", -(2**31), e) == 0
    for e, rounding in ((-1, 0), (63, 0), (1, -1), (1, 7)):
        assert library.loop("rounding_shift", 99, e, rounding) == 0


@pytest.mark.parametrize("name", c_files())
@pytest.mark.slow
def test_a_file_is_cplusplus_too(name: str) -> None:
    """Verilator's makefile gives C files to its C++ compiler."""
    flags = ["-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    done = run_program([compiler("c++"), *flags, "-fsyntax-only", str(SOURCES / name)])
    assert (done.returncode, done.stderr) == (0, "")


def test_the_library_keeps_to_its_names_and_has_no_state(tmp_path: Path) -> None:
    objects = [tmp_path / f"{name}.o" for name in c_files()]
    for name, target in zip(c_files(), objects, strict=True):
        flags = [*STRICT, "-O0", "-c", str(SOURCES / name), "-o", str(target)]
        subprocess.run([compiler(), *flags], check=True)
    lines = run_program([compiler("nm"), *objects], check=True).stdout.splitlines()
    found = [match.groups() for line in lines if (match := re.match(r".{16} (\w) (\w+)$", line))]
    public = {name for kind, name in found if kind == "T"}
    assert all(name.startswith("eightfold_") for name in public)
    assert {kind for kind, _ in found} <= {"T", "t", "U", "r", "R"}, "a variable that is written"
    outside = {name for kind, name in found if kind == "U"} - public
    known = {"exp", "floor", "frexp", "ldexp", "round", "roundf", "tanh"}
    assert outside <= known | {"__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_"}
    declared = set(re.findall(r"\b(eightfold_\w+)\(", (SOURCES / HEADER).read_text("utf-8")))
    assert public == declared


@pytest.mark.slow
def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    """All checks once more under AddressSanitizer and UndefinedBehaviorSanitizer."""
    done = sanitized(tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == f"{len(checks.PRIMITIVES)} primitives, {len(checks.CHECKED)} operators\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "right", "wrong", "said"),
    [
        ("fixed_point", "(int64_t)a * b", "a * b", "signed integer overflow"),
        ("convolution", "x < 0 || x >= image->width", "x < 0 && x >= 0", "AddressSanitizer"),
    ],
    ids=["overflow", "beyond-the-image"],
)
@pytest.mark.usual(names=["overflow"])
def test_sanitizers_see_what_is_wrong(
    file: str, right: str, wrong: str, said: str, tmp_path: Path
) -> None:
    done = sanitized(tmp_path, broken(tmp_path, file, right, wrong))
    assert done.returncode != 0
    assert said in done.stderr


MUTATIONS = [
    ("fixed_point", "((int64_t)1 << 30), 31", "((int64_t)1 << 30) - 1, 31", "products"),
    ("fixed_point", "result > INT32_MAX ? INT32_MAX : (int32_t)", "(int32_t)", "products"),
    ("fixed_point", "above || (tie && x >= 0)", "above || tie", "wrap_and_shifts"),
    ("fixed_point", "tie && (floor & 1)", "tie && !(floor & 1)", "wrap_and_shifts"),
    ("fixed_point", "~(~x >> e)", "-(-x >> e)", "wrap_and_shifts"),
    ("fixed_point", "exponent += 1;", "", "quantize_multiplier"),
    ("fixed_point", "exponent < -31", "exponent < -30", "quantize_multiplier"),
    ("requantize", "v = eightfold_wrap32(", "v = (", "requantize"),
    ("requantize", "single ? 62 : 31", "single ? 61 : 31", "requantize"),
    ("quantization", "roundf(real", "floorf(real", "RELU6"),
    ("tables", "(double)input->scale / (double)output->scale",
     "(double)(input->scale / output->scale)", "near_ties"),
    ("tables", "code < input->zero_point", "code <= 0", "LEAKY_RELU"),
    ("sigmoids", "1.0f / output->scale", "1.0f / output->scale * 1.0001f", "TANH"),
    ("sigmoids", "minus_eighth = 1895147668", "minus_eighth = 1895147669", "sigmoids"),
    ("binary", "(double)(a * b / output)", "(double)a * (double)b / (double)output", "MUL"),
    ("binary", "rescaled(binary, 0, x) - ", "rescaled(binary, 0, x) + ", "SUB"),
    ("binary", "index % size * stride", "index % size", "ADD"),
    ("windows", "missing / 2", "(missing + 1) / 2", "CONV_2D"),
    ("convolution", "c / (filter->outputs / groups)", "c % groups", "CONV_2D"),
    ("convolution", "from.step = depthwise ? filter->outputs", "from.step = depthwise ? 1",
     "DEPTHWISE_CONV_2D"),
    ("fully_connected", "round((double)acc", "rint((double)acc", "FULLY_CONNECTED"),
    ("fully_connected", "scale_count == 1 ? filter->zero_point : 0", "scale_count == 1 ? 0 : 0",
     "FULLY_CONNECTED"),
    ("pooling", "total > 0 ? count / 2 : -(count / 2)", "count / 2", "AVERAGE_POOL_2D"),
    ("pooling", "largest = -128", "largest = 0", "MAX_POOL_2D"),
    ("reduction", "count >> k > 1", "count >> k > 2", "MEAN"),
    ("reduction", "codes[place(&reduced, j)] - in->zero_point", "codes[j] - in->zero_point", "SUM"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "right", "wrong", "check"),
    [pytest.param(*case, id=f"{case[0]}-{number}") for number, case in enumerate(MUTATIONS)],
)
@pytest.mark.usual(count=4)
def test_the_comparison_catches(
    file: str, right: str, wrong: str, check: str, tmp_path: Path
) -> None:
    library = Library(build(tmp_path, sources=broken(tmp_path, file, right, wrong)))
    primitives = {each.__name__[6:]: each for each in checks.PRIMITIVES}

    def compare() -> object:
        if check in primitives:
            return primitives[check](library, np.random.default_rng(0))
        return checks.check_operator(library, check, "litert", 1000)

    with pytest.raises(AssertionError, match="Arrays are not equal"):
        compare()


def broken(folder: Path, file: str, right: str, wrong: str) -> Path:
    """Return a copy of the sources with one expression replaced."""
    copy = folder / "sources"
    shutil.copytree(SOURCES, copy)
    path = copy / f"eightfold_{file}.c"
    text = path.read_text("utf-8")
    assert text.count(right) == 1
    path.write_text(text.replace(right, wrong), "utf-8")
    return copy


def sanitized(folder: Path, sources: Path = SOURCES) -> subprocess.CompletedProcess[str]:
    """Run all checks in a process that begins with the sanitizers; skip if there are none."""
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
    probe = folder / "probe.c"
    probe.write_text("int main(void) { return 0; }\n")
    tried = [compiler(), *flags, str(probe), "-o", str(folder / "probe")]
    runtime = run_program([compiler(), "-print-file-name=libasan.so"], check=True).stdout.strip()
    if run_program(tried).returncode or "/" not in runtime:
        pytest.skip("cc has no sanitizers that can be loaded first: use gcc with libasan")
    path = build(folder, *flags, sources=sources)
    environment = {
        "LD_PRELOAD": runtime,
        "ASAN_OPTIONS": "detect_leaks=0",  # Python's own, at its end
        "PYTHONPATH": str(IMPORT_ROOT),
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "tests.support.golden_c.checks", str(path), "60"]
    return run_program(command, env=environment)


MAIN = """#include <stdio.h>
#include "eightfold_contract.h"
int main(void) {
    int c[6];
    while (scanf("%d %d %d %d %d %d", c, c + 1, c + 2, c + 3, c + 4, c + 5) == 6)
        printf("%d\\n", eightfold_contract(c[0], c[1], c[2], c[3], c[4], c[5]));
}
"""


@pytest.mark.parametrize(
    "contract",
    [
        "second_half_up",
        "one_rounding_half_up",
        "one_rounding_half_away and relu_at_0",
        "first_nudge_shifted and second_half_away_and_even",
        "scaled_16",
    ],
)
def test_a_contract_in_c_gives_its_results(contract: str, tmp_path: Path) -> None:
    for name, content in contract_files(kept(contract)).items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "main.c").write_text(MAIN)
    words = [compiler(), "-std=c99", "-o", "run", "main.c", "eightfold_contract.c"]
    subprocess.run(words, cwd=tmp_path, check=True)
    cases = contract_cases("requantizer", kept(contract), seed=4)
    text = "\n".join(" ".join(map(str, row)) for row in zip(*cases.inputs.values(), strict=True))
    done = run_program([tmp_path / "run"], input=text, check=True)
    np.testing.assert_array_equal(np.array(done.stdout.split(), int), cases.results["result"])


def test_what_is_not_written_in_c_is_said() -> None:
    with pytest.raises(InputError, match="clamp wraps is not written in C"):
        contract_files(kept("clamp_wraps"))

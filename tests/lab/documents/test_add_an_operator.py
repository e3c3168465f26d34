"""docs/add-an-operator.md, followed in a copy of the project: its changes apply, ABS equals LiteRT
there, and what is left out of them is named."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eightfold.common.files import IMPORT_ROOT
from eightfold.operators import OPERATORS
from lab.documents.blocks import FILE
from tests.support.checkout import tracked_files

PAGE = IMPORT_ROOT / "docs" / "add-an-operator.md"
TEXT = PAGE.read_text(encoding="utf-8")

CHANGES = {
    re.findall(r"^\+\+\+ b/(.*)$", change, re.MULTILINE)[0]: change
    for change in re.findall(r"^```diff\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
}
"""The page's unified diffs by the file that each changes, in the order of work."""

NAMED = {
    "README.md": "README.md does not say",
    "docs/numerics.md": "docs/numerics.md has nothing for ABS",
    "eightfold/cases/elementwise.py": "eightfold/cases has nothing for ABS",
    "eightfold/cli/operators.json": "eightfold/cli/operators.json, by python -m lab.measure has no",
    "eightfold/compiler/lower/pointwise.py": "compiler/lower/lowering.py has nothing for ABS",
    "eightfold/operators/elementwise.py": "KeyError: 'ABS'",
    "examples/operators.py": "examples/operators.py has nothing for ABS",
    "golden/unary.py": "module 'eightfold.golden.unary' has no attribute 'absolute'",
    "lab/coverage/elementwise.py": "lab/coverage has nothing for ABS",
    "lab/measure/series.py": "lab/measure/series.py has nothing for ABS",
    "tests/golden/test_mutations.py": "tests/golden/test_mutations.py has nothing for ABS",
}
"""What is said where the change of a file is left out."""

ASK = """
from tests.lab.test_catalogue import PLACES, missing, test_the_readme_counts_them
print(*filter(None, map(missing, PLACES)), sep="\\n")
test_the_readme_counts_them()
"""

COMPARE = """
from itertools import product

import numpy as np

import eightfold
from eightfold.cli.operator_list import records
from eightfold.common.files import IMPORT_ROOT
from eightfold.operators import load_model, run_graph
from eightfold.run.reference.oracle import Oracle
from eightfold.target.config import PRESETS
from tests.support.models.single import one_operator
from tests.support.networks.machine_run import expect_golden

SCALES = [(0.5, 0.5), (0.5, 0.75), (0.1, 0.05), (0.3, 0.001), (0.02, 1.7), (1.0, 2.0), (3e-5, 3e-5)]
POINTS = [(0, 0), (3, -20), (-128, -128), (127, 127), (-128, 127)]
codes = np.arange(-128, 128).astype(np.int8).reshape(16, 16)
with Oracle() as oracle:
    for scales, points in product(SCALES, POINTS):
        shape = codes.shape
        model = one_operator("ABS", [shape], shape, scales=scales, zero_points=points)
        graph = load_model(model)
        inputs = {graph.inputs[0]: codes}
        expected = oracle.run(model, inputs)[graph.outputs[0]]
        for reference in ("litert", "tflm"):
            got = run_graph(graph, inputs, reference)[graph.outputs[0]]
            np.testing.assert_array_equal(got, expected, err_msg=f"{scales} {points}")
        expect_golden(graph, inputs, PRESETS["nano"])
assert records()["ABS"] == records()["HARD_SWISH"], "a table takes as long, whatever its function"
print(IMPORT_ROOT)
"""


def test_the_table_names_the_files_that_change() -> None:
    rows = re.findall(r"^\| [\w ]+ \| (`.*?`) \| .* \|$", TEXT, re.MULTILINE)
    files = re.findall(r"`(.*?)`", " ".join(rows))
    assert sorted(files) == sorted(CHANGES) == sorted(NAMED)
    tests = [file for file in files if file.startswith("tests/")]
    code = [file for file in files if file.endswith((".py", ".json")) and file not in tests]
    assert len(code) <= 8
    assert len(tests) <= 2


def test_the_example_is_missing() -> None:
    assert "ABS" not in OPERATORS, "the page adds it: let it add an operator that is missing"


def apply(file: str, root: Path, *options: str) -> None:
    """Apply the change of a file, with options of ``git apply``."""
    done = subprocess.run(
        ["git", "apply", *options, "-"],
        input=CHANGES[file],
        cwd=root,
        capture_output=True,
        text=True,
    )
    block = f"block {[*CHANGES].index(file) + 1} of docs/add-an-operator.md, the change of {file}"
    assert done.returncode == 0, f"{block}, does not apply any more:\n{done.stderr}"


@pytest.mark.parametrize("file", CHANGES)
def test_a_change_applies(file: str) -> None:
    apply(file, IMPORT_ROOT, "--check")


def test_a_change_that_does_not_apply_is_named(tmp_path: Path) -> None:
    (tmp_path / "golden").mkdir()
    (tmp_path / "golden" / "unary.py").write_text('"""Another module."""\n')
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    message = "block 2 of docs/add-an-operator.md, the change of golden/unary.py, does not apply"
    with pytest.raises(AssertionError, match=message):
        apply("golden/unary.py", tmp_path)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the checkout with the page's changes."""
    root = tmp_path_factory.mktemp("copy")
    for name in tracked_files():
        source = IMPORT_ROOT / name
        if os.path.lexists(source):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, root / name, follow_symlinks=False)
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    for file in CHANGES:
        apply(file, root)
    return root


def run(root: Path, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python with the copy's modules."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST"))}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd or root,
        env=environment | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_the_model_runs_as_the_page_shows(copy: Path, tmp_path: Path) -> None:
    ((name, script),) = FILE.findall(TEXT)
    (tmp_path / name).write_text(script, encoding="utf-8")
    assert run(copy, name, cwd=tmp_path).returncode == 0
    command = ("-m", "eightfold.cli.main", "run", "abs.tflite", "--compare")
    done = run(copy, *command, cwd=tmp_path)
    shown = re.findall(r"^```text\n\$ .*\n((?:.*\n)*?)```$", TEXT, re.MULTILINE)
    assert [line.rstrip() for line in done.stdout.splitlines()] == shown[0].splitlines(), (
        done.stderr
    )


@pytest.mark.slow
def test_every_code_equals_litert_and_the_machine_model(copy: Path) -> None:
    done = run(copy, "-c", COMPARE)
    assert done.stdout == f"{copy}\n", done.stderr


@pytest.mark.slow
def test_every_place_has_it(copy: Path) -> None:
    tables = ("tests/lab/test_catalogue.py", "tests/eightfold/operators/test_registry.py")
    models = ("tests/golden/test_against_litert.py", "tests/golden/test_mutations.py")
    options = ("-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not long")
    chosen = ("-k", "ABS or test_catalogue or test_registry")
    done = run(copy, "-m", "pytest", *options, *chosen, *tables, *models)
    assert done.returncode == 0, done.stdout


@pytest.fixture
def without(copy: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Yield the copy with the change of one file left out."""
    apply(request.param, copy, "--reverse")
    yield copy
    apply(request.param, copy)


@pytest.mark.slow
@pytest.mark.parametrize(("without", "words"), NAMED.items(), indirect=["without"], ids=NAMED)
def test_what_is_left_out_is_named(without: Path, words: str) -> None:
    done = run(without, "-c", ASK)
    assert words in done.stdout + done.stderr

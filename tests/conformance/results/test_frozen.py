"""Frozen sets: the same bytes everywhere, judged by what they carry, refused if not whole."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from eightfold.common.errors import InputError
from eightfold.conformance.commands import vectors
from eightfold.conformance.results.folders import judge_folders
from eightfold.conformance.vectors.frozen import Recipe, recipes, write_set
from eightfold.conformance.verdict import CaseOutcome, Judged
from lab.documents.kit import recipe_text
from tests.support.conformance.models import copies

LITTLE = Recipe(
    name="little@1.0",
    profile="tflite",
    level="smoke",
    seed=3,
    tag="",
    claims=("requantizer", "tables", "fake_quantize", "ADD", "MAXIMUM"),
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a little set, and right results made by its files alone, of all but one unit."""
    vectors = tmp_path_factory.mktemp("set") / "little"
    results = tmp_path_factory.mktemp("mine")
    write_set(vectors, LITTLE)
    for unit in ("requantizer", "fake_quantize"):
        (results / unit).mkdir()
        shutil.copy(vectors / unit / "expected.hex", results / unit / "results.hex")
    for model in vectors.glob("*/*/model.tflite"):
        case = results / model.parent.relative_to(vectors)
        if (model.parent / "reason.txt").exists():
            case.mkdir(parents=True)
            (case / "refused.txt").write_text("not for me\n")
        else:
            shutil.copytree(model.parent / "expected", case)
    return vectors, results


@pytest.fixture
def folders(written: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    return copies(written, tmp_path)


def seal(vectors: Path) -> str:
    """List the files of a folder anew, as another version of the project would; return its name."""
    names = (path.relative_to(vectors).as_posix() for path in vectors.rglob("*") if path.is_file())
    sums = {
        name: hashlib.sha256((vectors / name).read_bytes()).hexdigest()
        for name in sorted(names)
        if name not in ("SHA256SUMS", "README.md")
    }
    listed = "".join(f"{digest}  {name}\n" for name, digest in sums.items())
    (vectors / "SHA256SUMS").write_text(listed)
    return hashlib.sha256(listed.encode()).hexdigest()


def judged(vectors: Path, results: Path) -> Judged:
    def draw(*_: object) -> list[str]:
        raise AssertionError("a set is judged as it is")

    return judge_folders(vectors, results, draw, power=False)


def test_right_results_hold_and_the_statement_names_the_set(written: tuple[Path, Path]) -> None:
    vectors, results = written
    statement = judged(vectors, results).statement
    assert statement.holds
    asked = ["requantizer", "fake_quantize", "ADD", "MAXIMUM"]
    assert [each.claim for each in statement.findings] == asked
    assert statement.profile.claims == LITTLE.claims  # tables is claimed, and was not asked
    digest = hashlib.sha256((vectors / "SHA256SUMS").read_bytes()).hexdigest()
    assert f", smoke, vectors little@1.0 (SHA-256 {digest[:12]}); " in statement.line()
    assert digest in (vectors / "README.md").read_text()
    for tool in ("sha256sum", "gsha256sum"):
        if shutil.which(tool):
            subprocess.run([tool, "--check", "--quiet", "SHA256SUMS"], cwd=vectors, check=True)


def test_a_set_of_another_version_is_judged_by_what_it_carries(folders: tuple[Path, Path]) -> None:
    vectors, results = folders
    expected = vectors / "ADD" / "0001" / "expected" / "tensor_2.bin"
    expected.write_bytes(bytes(each ^ 1 for each in expected.read_bytes()))
    facts = json.loads((vectors / "set.json").read_text())
    facts |= {"kit": "9.9", "set": "little@2.0", "later": "another version says more"}
    (vectors / "set.json").write_text(json.dumps(facts))
    digest = seal(vectors)
    statement = judged(vectors, results).statement
    found = statement.of("ADD")
    assert found and [(each.name, each.outcome) for each in found.failed] == [
        ("ADD/0001", CaseOutcome.OFF_BY_ONE)
    ]
    shutil.copy(expected, results / "ADD" / "0001")
    assert judged(vectors, results).statement.holds
    assert digest[:12] in statement.vectors


def break_set(vectors: Path, results: Path, what: str) -> str:
    """Break something; return what is said of it."""
    facts = json.loads((vectors / "set.json").read_text())
    model = vectors / "ADD" / "0000" / "model.tflite"
    match what:
        case "changed":
            model.write_bytes(model.read_bytes()[:-1])
            return "1 have changed, such as ADD/0000/model.tflite; get the set again"
        case "missing and more":
            model.rename(model.with_name("reason.txt"))
            return r"missing, such as ADD/0000/model.tflite; 1 are not listed, .*reason.txt"
        case "no list":
            (vectors / "SHA256SUMS").unlink()
            return "SHA256SUMS: no list of SHA-256"
        case "cut list":
            listed = (vectors / "SHA256SUMS").read_text()
            (vectors / "SHA256SUMS").write_text(listed[: len(listed) // 2])
            return "SHA256SUMS"
        case "known name":
            facts["set"] = "smoke@1.0"
            said = r"has digest \w{12}, and that of smoke@1.0 is"
        case "other columns":
            facts["units"]["tables"]["inputs"][0]["bits"] = 16
            said = "tables has other columns than this Eightfold judges; judge by the Eightfold"
        case "unknown operator":
            facts["models"]["CONV_9D"] = 1
            said = "no unit or operator 'CONV_9D'.*; judge by the Eightfold that wrote it"
        case "fewer words":
            facts["units"]["fake_quantize"]["cases"] += 1
            said = "fake_quantize/cases.hex: has not 301 cases"
        case "no facts":
            facts = {"form": 1}
            said = "is no set of vectors: KeyError"
        case "no model":
            model.write_bytes(b"no model")
            said = "ADD/0000: cannot be judged here: .*; judge by the Eightfold that wrote it"
        case "cut result":
            (results / "ADD" / "0001" / "tensor_2.bin").write_bytes(b"")
            said = "ADD/0001: tensor_2.bin has 0 bytes, not"
        case _:
            shutil.rmtree(results)
            results.mkdir()
            said = "no folder of any claim of .*, requantizer or tables for example"
    (vectors / "set.json").write_text(json.dumps(facts))
    seal(vectors)
    return said


@pytest.mark.parametrize(
    "what",
    [
        *("changed", "missing and more", "no list", "cut list", "known name", "other columns"),
        *("unknown operator", "fewer words", "no facts", "no model", "cut result", "nothing asked"),
    ],
)
def test_what_cannot_be_judged_is_one_line(what: str, folders: tuple[Path, Path]) -> None:
    message = break_set(*folders, what)
    with pytest.raises(InputError, match=message) as caught:
        judged(*folders)
    assert "\n" not in str(caught.value)


def test_another_set_than_the_recipes_is_not_written(tmp_path: Path) -> None:
    recipe = Recipe(**{**vars(LITTLE), "claims": ("tables",), "sha256": "0" * 64})
    with pytest.raises(InputError, match=r"its digest is 0{12}, and .*; it is in preparation: "):
        write_set(tmp_path / "set", recipe)
    with pytest.raises(InputError, match="write it with release v1 of Eightfold"):
        write_set(tmp_path / "set", Recipe(**{**vars(recipe), "tag": "v1"}))
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").write_text("")
    with pytest.raises(InputError, match="is not empty; name a new folder"):
        write_set(tmp_path, recipe)
    said = CliRunner().invoke(vectors, ["--set", "smoke@0.1", "-o", str(tmp_path / "set")])
    assert "no such set; use one of smoke@1.0, standard@1.0" in said.output


def test_what_was_released_stays_in_the_recipe() -> None:
    facts = {"profile": "tflite", "level": "smoke", "seed": 0, "tag": "v1", "sha256": "0" * 64}
    text = recipe_text(json.dumps({"tiny@1.0": facts}))
    assert json.loads(text)["tiny@1.0"]["sha256"] == "0" * 64


@pytest.mark.slow
def test_smoke_is_the_recipes_in_every_process(tmp_path: Path) -> None:
    surroundings = (
        {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo"},
        {"PYTHONHASHSEED": "2", "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F"},
    )
    listed = set()
    for number, each in enumerate(surroundings):
        folder = tmp_path / str(number)
        command = ["eightfold.cli.main", "vectors", "--set", "smoke@1.0", "-o", folder]
        subprocess.run([sys.executable, "-m", *command], env={**os.environ, **each}, check=True)
        listed.add((folder / "SHA256SUMS").read_bytes())
    (same,) = listed
    assert hashlib.sha256(same).hexdigest() == recipes()["smoke@1.0"].sha256
    assert recipes()["smoke@1.0"].size < 5e6

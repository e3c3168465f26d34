"""Folders of results against folders of vectors: a statement, or a clear line."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.profile import PROFILES, Profile
from eightfold.conformance.results.folders import MESSAGE, judge_folders, model_answer
from eightfold.conformance.vectors.models import OperatorCase, model_cases, write_models
from eightfold.conformance.vectors.unit_files import unit_files, write_unit
from eightfold.conformance.verdict import CaseOutcome, ClaimFinding
from eightfold.model import read_model
from tests.support.conformance.models import copies, write_right_models

TFLITE = PROFILES["tflite"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return folders of vectors, and right results of all of them."""
    vectors, results = tmp_path_factory.mktemp("vectors"), tmp_path_factory.mktemp("mine")
    for unit, suffix in (("requantizer", "hex"), ("dot", "npz")):
        write_unit(vectors / unit, unit, TFLITE, "smoke", suffix, 3)  # pyright: ignore[reportArgumentType]
        (results / unit).mkdir()
        shutil.copy(vectors / unit / f"expected.{suffix}", results / unit / f"results.{suffix}")
    write_models(vectors / "operators", ["SOFTMAX", "ADD"], TFLITE, "smoke", 3)
    write_right_models(vectors / "operators", results / "operators")
    return vectors, results


@pytest.fixture
def folders(written: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    return copies(written, tmp_path)


def finding(vectors: Path, results: Path) -> ClaimFinding:
    """Return the one finding of a folder of vectors."""
    (found,) = judge_folders(vectors, results, power=False).statement.findings
    return found


def test_right_results_conform(written: tuple[Path, Path]) -> None:
    judged = judge_folders(*written, power=False)
    statement = judged.statement
    assert statement.holds
    assert [each.claim for each in statement.findings] == ["requantizer", "dot", "ADD", "SOFTMAX"]
    assert statement.line() == (
        "Eightfold conformance 2.0, TFLite int8 (litert), no limits, operator level, smoke; "
        "requantizer, dot, ADD, SOFTMAX: no deviation found in 4178 cases, which could not "
        "have told 5 of 121 mistakes"
    )
    assert statement.subject == written[1].name
    assert list(judged.names) == ["SOFTMAX", "ADD"]
    assert judged.names["ADD"][0] == "ADD/0000"


def test_one_folder_is_judged_alone(written: tuple[Path, Path]) -> None:
    vectors, results = written
    assert finding(vectors / "dot", results / "dot").right


def test_a_wrong_model_is_named_by_its_folder(folders: tuple[Path, Path]) -> None:
    vectors, results = folders
    path = results / "operators" / "ADD" / "0002" / "results.npz"
    arrays = {name: array ^ 1 for name, array in np.load(path).items()}
    np.savez(path, **arrays)
    shutil.rmtree(results / "operators" / "ADD" / "0001")
    statement = judge_folders(vectors, results, power=False).statement
    found = statement.of("ADD")
    assert found and [(each.name, each.outcome) for each in found.failed] == [
        ("ADD/0001", CaseOutcome.MISSING),
        ("ADD/0002", CaseOutcome.OFF_BY_ONE),
    ]
    assert statement.line().endswith("; deviates: ADD")


def broken_folder(vectors: Path, results: Path, what: str) -> str:
    """Break something; return what is said of it."""
    hexes = results / "requantizer" / "results.hex"
    if what == "no unit":
        shutil.rmtree(results / "dot")
        return r"no folder dot, which .* has"
    if what == "no file":
        hexes.unlink()
        return "requantizer: no results; give one of results.hex"
    if what == "cut":
        hexes.write_bytes(hexes.read_bytes()[:-2])
        return r"line \d+: .* has 1 digits, and a result 2"
    if what == "cut npz":
        path = results / "dot" / "results.npz"
        path.write_bytes(path.read_bytes()[:-30])
        return "cannot be read as .npz"
    if what == "no models":
        shutil.rmtree(results / "operators")
        (results / "operators").mkdir()
        return "no results of any model; give SOFTMAX/0000/results.npz, or refused.txt"
    if what == "models of another seed":
        write_models(vectors.parent / "other", ["ADD"], TFLITE, "smoke", 4)
        shutil.copy(vectors.parent / "other" / "manifest.json", results / "operators")
        return r"results of other cases, of operators, .* seed 4; .* seed 3"
    if what == "tampered":
        path = vectors / "operators" / "ADD" / "0000" / "expected.npz"
        path.write_bytes(path.read_bytes() + b" ")
        return "expected.npz: has changed since it was written"
    if what == "another level":
        write_unit(vectors / "tables", "tables", TFLITE, "smoke", "hex", 4)
        (results / "tables").mkdir()
        return "dot has dot, .* seed 3, and tables .* seed 4; judge them one by one"
    if what == "twice":
        for folder in (vectors, results):
            shutil.copytree(folder / "dot", folder / "again")
        return "dot is in two folders; leave one of them"
    assert what == "nothing"
    shutil.rmtree(vectors)
    vectors.mkdir()
    return "no manifest.json, and none in a folder within"


@pytest.mark.parametrize(
    "what",
    [
        *("no unit", "no file", "cut", "cut npz", "no models", "models of another seed"),
        *("tampered", "another level", "twice", "nothing"),
    ],
)
def test_what_cannot_be_judged_is_one_line(what: str, folders: tuple[Path, Path]) -> None:
    message = broken_folder(*folders, what)
    with pytest.raises(InputError, match=message) as caught:
        judge_folders(*folders, power=False)
    assert "\n" not in str(caught.value)


def test_folders_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(f"{tmp_path / 'a'}: no such folder")):
        judge_folders(tmp_path / "a", tmp_path, power=False)
    with pytest.raises(InputError, match=re.escape(f"{tmp_path / 'b'}: no such folder")):
        judge_folders(tmp_path, tmp_path / "b", power=False)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["requantizer", "fake_quantize"])
def test_results_without_identity_that_are_mostly_wrong_are_doubted(
    unit: str, tmp_path: Path
) -> None:
    write_unit(tmp_path / "v", unit, TFLITE, "smoke", "hex", 1)
    other, _ = unit_files(unit, TFLITE, "smoke", "hex", 2)
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "results.hex").write_bytes(other["expected.hex"])
    found = finding(tmp_path / "v", tmp_path / "r")
    assert not found.right
    assert found.diagnosis[-1].startswith("Nothing says which cases these results are of, and ")
    assert "seed 1" in found.diagnosis[-1]
    # Nearly right ones, and those with an identity, are not.
    manifest = json.loads((tmp_path / "v" / "manifest.json").read_text())
    (tmp_path / "r" / "manifest.json").write_text(json.dumps(manifest))
    doubted = finding(tmp_path / "v", tmp_path / "r").diagnosis
    assert not any(text.startswith("Nothing says") for text in doubted)


def test_a_subject_is_the_name_of_the_folder(
    written: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors, results = written
    monkeypatch.chdir(results / "dot")
    assert judge_folders(vectors / "dot", Path(), power=False).statement.subject == "dot"


def test_a_profile_of_their_own_comes_back(tmp_path: Path) -> None:
    profile = Profile(name="my core", claims=("dot", "ADD"))
    write_unit(tmp_path, "dot", profile)
    shutil.copy(tmp_path / "expected.hex", tmp_path / "results.hex")
    statement = judge_folders(tmp_path, tmp_path, power=False).statement
    assert statement.profile == profile


@pytest.fixture(scope="module")
def case() -> OperatorCase:
    return next(model_cases("ADD", PROFILES["tflite"]))


def write(folder: Path, **arrays: np.ndarray) -> Path:
    """Write an .npz file of results and return it."""
    path = folder / "results.npz"
    np.savez(path, **arrays)  # pyright: ignore[reportArgumentType]
    return path


def test_tensors_by_index_and_outputs_by_place(case: OperatorCase, tmp_path: Path) -> None:
    (index,) = read_model(case.model).outputs
    tensor = case.tensors[index]
    for name in (f"tensor_{index}", "output_0"):
        write(tmp_path, **{name: tensor})
        answer = model_answer(tmp_path, case.model)
        assert answer.ending == "computed"
        np.testing.assert_array_equal(answer.tensors[index], tensor, strict=True)


@pytest.mark.parametrize("ending", ["refused", "crashed", "timeout"])
def test_a_text_says_how_it_ended(ending: str, case: OperatorCase, tmp_path: Path) -> None:
    (tmp_path / f"{ending}.txt").write_bytes(b"  out of \xff memory\nmore\n")
    answer = model_answer(tmp_path, case.model)
    assert (answer.ending, answer.message) == (ending, "out of \ufffd memory")
    (tmp_path / f"{ending}.txt").write_text("a" * 10**6)
    assert len(model_answer(tmp_path, case.model).message) == MESSAGE


def test_nothing_is_missing(case: OperatorCase, tmp_path: Path) -> None:
    assert model_answer(tmp_path, case.model).ending == "missing"
    assert model_answer(tmp_path / "absent", case.model).ending == "missing"


def test_two_ends_are_refused(case: OperatorCase, tmp_path: Path) -> None:
    write(tmp_path, output_0=np.zeros(1))
    (tmp_path / "timeout.txt").touch()
    with pytest.raises(InputError, match=r"results.npz and timeout.txt; a model has one end"):
        model_answer(tmp_path, case.model)
    (tmp_path / "results.npz").unlink()
    (tmp_path / "tensor_2.bin").touch()
    with pytest.raises(InputError, match=r"timeout.txt and tensor_\*.bin; a model has one end"):
        model_answer(tmp_path, case.model)


def test_arrays_that_have_no_place_are_refused(case: OperatorCase, tmp_path: Path) -> None:
    index = read_model(case.model).outputs[0]
    zero = np.zeros(1, np.int8)
    for arrays, message in (
        ({"result": zero}, "'result' is no tensor_<index> or output_<place>"),
        ({"output_1": zero}, "output_1, and the model has 1 outputs"),
        ({"output_0": zero, f"tensor_{index}": zero}, "which is there already"),
    ):
        write(tmp_path, **arrays)
        with pytest.raises(InputError, match=message):
            model_answer(tmp_path, case.model)


def test_a_cut_file_is_refused(case: OperatorCase, tmp_path: Path) -> None:
    path = write(tmp_path, output_0=np.zeros(1000, np.int8))
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(InputError, match=r"results.npz: cannot be read as .npz: .*; see whether"):
        model_answer(tmp_path, case.model)


def test_tensors_of_a_model_to_refuse_are_read(tmp_path: Path) -> None:
    write(tmp_path, output_0=np.zeros(1, np.int8))
    assert model_answer(tmp_path, b"no model").ending == "computed"

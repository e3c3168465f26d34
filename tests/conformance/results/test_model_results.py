"""What was made of models, from folders."""

from pathlib import Path

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.profile import PROFILES
from eightfold.conformance.results.folders import MESSAGE, model_answer
from eightfold.conformance.vectors.operators import OperatorCase, operator_cases
from eightfold.model import read_model


@pytest.fixture(scope="module")
def case() -> OperatorCase:
    return next(operator_cases("ADD", PROFILES["tflite"]))


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

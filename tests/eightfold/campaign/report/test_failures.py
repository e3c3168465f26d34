"""What the page knows of a failure, whatever is in its folder."""

from pathlib import Path

import numpy as np
import pytest

from eightfold.campaign.report.facts import (
    LOG_LINES,
    TENSORS_SHOWN,
    Difference,
    differences,
    read_failure,
)
from eightfold.model.builder import ModelBuilder
from tests.support.models.single import one_operator


def tensors(path: Path, **arrays: np.ndarray) -> None:
    """Write arrays as the evidence of a case."""
    np.savez(path, allow_pickle=False, **arrays)


def test_the_first_element_that_differs() -> None:
    one = np.zeros((2, 3), np.int8)
    other = one.copy()
    other[1, 0], other[1, 2] = 5, -7
    (found,) = differences({4: one}, {4: other, 5: other})
    assert found == Difference(tensor=4, where=(1, 0), expected="0", got="5", elements=2, of=6)
    assert differences({4: one}, {4: one.copy()}) == []


def test_nan_equals_nan() -> None:
    one = np.array([np.nan, 1.0, np.nan], np.float32)
    assert differences({0: one}, {0: one.copy()}) == []
    (found,) = differences({0: one}, {0: np.array([np.nan, 1.0, 2.0], np.float32)})
    assert (found.where, found.expected, found.got) == ((2,), "nan", "2.0")


@pytest.mark.parametrize("other", [np.zeros((2, 2), np.int8), np.zeros(4, np.int16)])
def test_shape_and_type_are_told(other: np.ndarray) -> None:
    (found,) = differences({0: np.zeros(4, np.int8)}, {0: other})
    assert found.where is None
    assert (found.expected, found.got) == (
        "int8 4", f"{other.dtype} {'x'.join(map(str, other.shape))}"
    )  # fmt: skip


def test_a_scalar_differs() -> None:
    (found,) = differences({0: np.array(3, np.int8)}, {0: np.array(4, np.int8)})
    assert (found.where, found.expected, found.got) == ((), "3", "4")


def test_an_empty_folder_and_none(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        found = read_failure(folder, "differs")
        assert (found.files, found.log, found.note, found.tensors) == ([], "", "", [])


@pytest.mark.parametrize("name", ["expected.npz", "got.npz", "model.tflite"])
def test_a_damaged_file_is_noted(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04 damaged")
    (tmp_path / "log.txt").write_text("differs\n\nstep\n")
    found = read_failure(tmp_path, "differs")
    assert name in found.note
    assert found.log == "step"


def test_the_log_is_cut_and_says_the_message_once(tmp_path: Path) -> None:
    lines = [f"step {number}" for number in range(LOG_LINES + 30)]
    (tmp_path / "log.txt").write_text("\n".join(["differs", "", "differs", "", *lines]) + "\n")
    found = read_failure(tmp_path, "differs")
    assert found.log.splitlines() == lines[:LOG_LINES]
    assert found.left == 30


def chain(length: int) -> bytes:
    """Return a network of RELUs, one after the other."""
    builder = ModelBuilder()
    last = builder.input([4], scale=0.5, zero_point=3)
    for number in range(length):
        result = builder.tensor([4], scale=0.5, zero_point=number, name=f"result {number}")
        builder.operator("RELU", [last], [result])
        last = result
    builder.output(last)
    return builder.build()


def test_of_a_network_the_first_operator_that_differs(tmp_path: Path) -> None:
    (tmp_path / "model.tflite").write_bytes(chain(50))
    wrong = np.ones(4, np.int8)
    tensors(tmp_path / "expected.npz", tensor_20=0 * wrong, tensor_21=0 * wrong)
    tensors(tmp_path / "got.npz", tensor_20=wrong, tensor_21=wrong)
    found = read_failure(tmp_path, "")
    assert [operator.index for operator in found.operators] == [19]
    assert found.operator_count == 50
    assert [(t.index, t.role, t.zero_point, t.differs) for t in found.tensors] == [
        (19, "input 0", "18", False),
        (20, "output 0", "19", True),
    ]


def test_of_many_operands_the_first(tmp_path: Path) -> None:
    model = one_operator(
        "CONCATENATION", [(1, 2)] * 40, (40, 2), scales=(0.5,) * 40, zero_points=(0,) * 40,
        options={"axis": 0},
    )  # fmt: skip
    (tmp_path / "model.tflite").write_bytes(model)
    found = read_failure(tmp_path, "")
    assert len(found.tensors) == TENSORS_SHOWN
    assert found.tensor_count == 41
    assert found.operators[0].options["axis"] == "0"

"""Tolerances: how far answers are, and the T that comes of several runtimes."""

import numpy as np
import pytest

from eightfold.conformance.answers import ModelAnswer
from eightfold.conformance.judge.models.tolerances import VOTERS, Rows, measured, tolerance_of
from eightfold.conformance.profile import OPERATORS, PROFILES
from eightfold.conformance.vectors.models import model_cases
from lab.measure.tolerances import RUNTIMES, deviation


def of(*largest: int, **more: int) -> Rows:
    """Return measurements of ADD: runtimes with these deviations, and those in ``more``."""
    far = dict(zip(VOTERS, largest, strict=False)) | more
    return {
        "ADD": {name: {"computed": int(x >= 0), "largest": max(x, 0)} for name, x in far.items()}
    }


@pytest.mark.parametrize(
    ("largest", "tolerance"),
    [
        ((0, 0, 0, 0, 0), 0),
        ((0, 0, 1, 1, 255), 1),
        ((2, 0, 0, 0, 0), 0),
        ((3, 1, 2, 0), 2),
        ((-1, -1, 3, 1, 2), 2),
        ((-1, -1, -1, 1, 2), None),
    ],
)
def test_one_alone_makes_no_tolerance(largest: tuple[int, ...], tolerance: int | None) -> None:
    assert tolerance_of("ADD", of(*largest, openvino=99)) == tolerance
    assert tolerance_of("CONV_2D", of(*largest)) is None


def test_how_far_answers_are() -> None:
    cases = list(model_cases("MUL", PROFILES["tflite"], count=4))
    outputs = [dict(case.tensors) for case in cases]
    first, second, third, _ = (next(iter(each)) for each in outputs)
    outputs[0][first] = np.where(outputs[0][first] < 100, outputs[0][first] + 3, 0).astype(np.int8)
    outputs[1][second] = outputs[1][second][..., :0]  # another shape
    outputs[2][third] = outputs[2][third].astype(np.int16)
    endings = ["computed", "computed", "computed", "refused"]
    answers = [
        ModelAnswer(ending=ending, tensors=each)  # pyright: ignore[reportArgumentType]
        for ending, each in zip(endings, outputs, strict=True)
    ]
    found = deviation(cases, answers)
    size = outputs[0][first].size
    assert list(found.values())[:-1] == [4, 1, size, size]
    assert found["largest"] >= 3


def test_every_row_was_measured_in_every_runtime() -> None:
    known = measured()["rows"]
    assert list(known) == list(OPERATORS)
    assert all(row.keys() == set(RUNTIMES) for row in known.values())
    assert known["ADD"]["tflm"]["largest"] == 0 < known["MAX_POOL_2D"]["tosa"]["largest"]

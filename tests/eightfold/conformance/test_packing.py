"""Answers come back from bytes as they were."""

import numpy as np

from eightfold.conformance.answers import MISSING, UNKNOWN, ModelAnswer, UnitAnswers
from eightfold.conformance.packing import (
    Exact,
    join_units,
    pack_models,
    pack_unit,
    unpack_models,
    unpack_unit,
)


def test_answers_of_a_unit_come_back_and_join() -> None:
    first = UnitAnswers(results={"result": np.array([1, MISSING, UNKNOWN])}, extra=2, note="X")
    second = UnitAnswers(results={"result": np.array([-128])}, note="late", crashed=True)
    joined = join_units([unpack_unit(pack_unit(each)) for each in (first, second)])
    np.testing.assert_array_equal(joined.results["result"], [1, MISSING, UNKNOWN, -128])
    assert joined.results["result"].dtype == np.int64
    assert (joined.extra, joined.note, joined.crashed) == (2, "X", True)


def test_answers_to_models_come_back() -> None:
    tensors = {12: np.array([[1.5]], np.float32), 3: np.zeros((0, 2), np.int8)}
    given = [
        Exact(),
        ModelAnswer(ending="computed", tensors=tensors),
        ModelAnswer(ending="crashed", message="SIGSEGV"),
        Exact(),
    ]
    found = unpack_models(pack_models(given))
    assert found[0] == found[3] == Exact()
    assert isinstance(found[2], ModelAnswer)
    assert (found[2].ending, found[2].message, found[2].tensors) == ("crashed", "SIGSEGV", {})
    assert isinstance(found[1], ModelAnswer)
    assert found[1].tensors.keys() == tensors.keys()
    for index, tensor in tensors.items():
        assert found[1].tensors[index].dtype == tensor.dtype
        np.testing.assert_array_equal(found[1].tensors[index], tensor)

"""Answers come back from bytes as they were."""

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.answers import (
    MISSING,
    UNKNOWN,
    Exact,
    ModelAnswer,
    UnitAnswers,
    _pack,
    join_units,
    pack_models,
    pack_unit,
    unpack_models,
    unpack_unit,
)


def test_answers_of_a_unit_come_back_and_join() -> None:
    first = UnitAnswers(results={"result": np.array([1, MISSING, UNKNOWN])}, extra=2, note="X")
    second = UnitAnswers(results={"result": np.array([-128])}, note="late", crashed=True)
    joined = join_units([unpack_unit(pack_unit(each), each.results) for each in (first, second)])
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
    found = unpack_models(pack_models(given), 4)
    assert found[0] == found[3] == Exact()
    assert isinstance(found[2], ModelAnswer)
    assert (found[2].ending, found[2].message, found[2].tensors) == ("crashed", "SIGSEGV", {})
    assert isinstance(found[1], ModelAnswer)
    assert found[1].tensors.keys() == tensors.keys()
    for index, tensor in tensors.items():
        assert found[1].tensors[index].dtype == tensor.dtype
        np.testing.assert_array_equal(found[1].tensors[index], tensor)


UNIT = UnitAnswers(results={"result": np.array([1, 2])})
MODELS = [Exact(), ModelAnswer(ending="computed", tensors={3: np.zeros(2, np.int8)})]


def other_facts(facts: object) -> bytes:
    return _pack(facts, {})  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no archive",
        pack_models(MODELS)[:-30],
        pack_models(MODELS).replace(b"PK", b"KP"),
        pack_models(MODELS[:1]),
        pack_unit(UNIT),
        other_facts([]),
        other_facts({"answers": 1}),
        other_facts({"answers": [{"ending": "won"}, {}]}),
        other_facts({"answers": [{"ending": "computed", "message": 1}, {}]}),
        other_facts({"answers": [{"what": 1}, {}]}),
        other_facts({"answers": [{}, 1]}),
        _pack({"answers": [{}, {}]}, {"9_9": np.zeros(1)}),
        _pack({"answers": [{}, {}]}, {"x": np.zeros(1)}),
        pack_unit(UnitAnswers(results={"result": np.array([1])})),
        pack_unit(UnitAnswers(results={"other": np.array([1, 2])})),
        _pack({"extra": "", "note": "", "crashed": False}, {"result": np.array([1, 2])}),
        _pack({"extra": 0, "note": "", "crashed": False}, {"result": np.array(["1", "2"])}),
        _pack({"extra": 0, "note": ""}, {"result": np.array([1, 2])}),
    ],
    ids=range(19),
)
def test_what_is_no_answer_is_one_line(content: bytes) -> None:
    said = "the answers that were kept cannot be read: "
    with pytest.raises(InputError, match=said):
        unpack_models(content, 2)
    if content != pack_unit(UNIT):
        with pytest.raises(InputError, match=said):
            unpack_unit(content, UNIT.results)

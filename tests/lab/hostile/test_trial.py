"""Verdicts on files: tools that are wrong on purpose are found out."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NoReturn

import numpy as np
import pytest

from eightfold.cases.operators import case_rng, random_case
from eightfold.model.builder import ModelBuilder
from eightfold.model.writer import unpack
from lab.hostile.subject import Step, _is_said, examine
from lab.hostile.trial import GOOD, REASONS, Trial, reason_for

pytestmark = pytest.mark.slow  # processes with all of the tool and of LiteRT

Given = Mapping[int, np.ndarray]


def relu(operands: int = 1, tool: str = "") -> bytes:
    b = ModelBuilder(tool)
    x = b.input((1, 4), scale=0.5)
    y = b.tensor((1, 4), scale=0.25)
    b.operator("RELU", [x] * operands, [y])
    b.output(y)
    return b.build()


def no_gate(content: bytes, given: Given, folder: str) -> Iterator[Step]:
    """A tool that computes RELU however many operands it has."""
    (computed,) = (s.tensors for s in examine(relu(), given, folder) if s.name == "golden")
    yield from (Step("check", "fine"), Step("load", "fine"))
    yield Step("golden", "fine", tensors=computed)


def off_by_one(content: bytes, given: Given, folder: str) -> Iterator[Step]:
    for step in examine(content, given, folder):
        yield _changed(step) if step.name == "golden" else step


def wrong_stream(content: bytes, given: Given, folder: str) -> Iterator[Step]:
    for step in examine(content, given, folder):
        yield _changed(step) if step.name == "stream" else step


def wrong_batch(content: bytes, given: Given, folder: str) -> Iterator[Step]:
    for step in examine(content, given, folder):
        yield _changed(step) if step.name == "batch" else step


def golden_refuses(content: bytes, given: Given, folder: str) -> Iterator[Step]:
    for step in examine(content, given, folder):
        yield Step("golden", "refused", "no") if step.name == "golden" else step


def stream_refuses(content: bytes, given: Given, folder: str) -> Iterator[Step]:
    for step in examine(content, given, folder):
        yield Step("stream", "refused", "no") if step.name == "stream" else step


def silent_check(content: bytes, given: Given, folder: str) -> Iterator[Step]:
    for step in examine(content, given, folder):
        yield Step("load", "unsaid", "no") if step.name == "load" else step


def endless(content: bytes, given: Given, folder: str) -> Iterator[Step]:
    yield from (Step("check", "fine"), Step("load", "fine"))
    while True:
        pass


def dying(content: bytes, given: Given, folder: str) -> NoReturn:
    raise SystemExit(3)


TOOLS = {
    tool.__name__: tool
    for tool in (
        no_gate,
        off_by_one,
        wrong_stream,
        wrong_batch,
        golden_refuses,
        stream_refuses,
        silent_check,
        endless,
        dying,
    )
}


def described(content: bytes, given: Given, folder: str) -> Iterator[Step]:
    """The tool that the file's description names; one process does for all."""
    tool = TOOLS.get(unpack(content).fields.get("Description", ""), examine)
    yield from tool(content, given, folder)


@pytest.fixture(scope="module")
def trial() -> Iterator[Trial]:
    with Trial(seconds=4, work=described) as each:
        yield each


def _changed(step: Step) -> Step:
    return replace(step, tensors={i: array ^ (i > 0) for i, array in step.tensors.items()})


@pytest.mark.parametrize("name", ["CONV_2D", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"])
def test_a_sound_model_is_equal_and_another_refused(trial: Trial, name: str) -> None:
    model, given = random_case(name, case_rng(name, 8))
    verdict = trial.judge(model, given)
    assert (verdict.kind, verdict.step) == ("equal", "golden+stream+batch")
    verdict = trial.judge(relu(2), given)
    assert (verdict.kind, verdict.step) == ("refused", "load")


def test_an_inference_whose_operands_contradict_the_file_is_refused(trial: Trial) -> None:
    b = ModelBuilder()
    x, axis = b.input((2, 3), scale=0.5), b.input((1,), dtype=np.int32)
    y = b.tensor((2, 1, 3), scale=0.5)
    b.operator("EXPAND_DIMS", [x, axis], [y])
    b.output(y)
    for value, kind in ((1, "equal"), (2, "refused"), (0, "refused")):
        verdict = trial.judge(b.build(), {axis: np.array([value], np.int32)})
        assert verdict.kind == kind, verdict
    assert verdict.step == "golden"
    assert "declared shape [2, 1, 3], computed [1, 2, 3]" in verdict.message


def test_an_index_outside_is_refused_by_the_stream_and_by_golden(trial: Trial) -> None:
    b = ModelBuilder()
    x, places = b.input((4,), scale=0.5), b.input((2,), dtype=np.int32)
    y = b.tensor((2,), scale=0.5)
    b.operator("GATHER", [x, places], [y], {"axis": 0})
    b.output(y)
    for value, kind in ((3, "equal"), (4, "refused"), (-1, "refused")):
        verdict = trial.judge(b.build(), {places: np.array([0, value], np.int32)})
        assert verdict.kind == kind, verdict


@pytest.mark.parametrize(
    ("tool", "operands", "kind", "step"),
    [
        ("off_by_one", 1, "different", "golden+stream+batch"),
        ("wrong_stream", 1, "different", "stream"),
        ("wrong_batch", 1, "different", "batch"),
        ("golden_refuses", 1, "disagreement", "golden"),
        ("stream_refuses", 1, "disagreement", "stream"),
        ("no_gate", 2, "accepted", "golden"),
        ("silent_check", 2, "unsaid", "load"),
        ("endless", 1, "time", "compile"),
        ("dying", 1, "died", "check"),
    ],
)
@pytest.mark.long
def test_a_wrong_tool_is_found_out(
    trial: Trial, tool: str, operands: int, kind: str, step: str
) -> None:
    verdict = trial.judge(relu(operands, tool), {})
    assert (verdict.kind, verdict.step) == (kind, step), verdict
    assert verdict.kind not in GOOD


def test_check_says_what_is_refused() -> None:
    steps = {step.name: step for step in examine(relu(2), {}, "")}
    assert list(steps) == ["check", "load"]
    assert [step.outcome for step in steps.values()] == ["refused", "refused"]
    assert _is_said("operator 0 RELU: 2 operands", ["2 operands"])
    assert not _is_said("operator 0 RELU: 2 operands", ["3 results"])


def test_reasons_are_those_of_messages() -> None:
    assert reason_for("The model is not a valid Flatbuffer buffer") is REASONS[0]
    assert reason_for("Didn't find op for builtin opcode 'TANH' version '9'.") is REASONS[1]
    assert reason_for("NumInputs(node) != 1 (2 != 1)") is None

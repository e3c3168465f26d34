"""Verdicts on files: tools that are wrong on purpose are found out; the process that tries them."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import NoReturn

import numpy as np
import pytest

from eightfold.cases.operators import case_rng, random_case
from eightfold.model.builder import ModelBuilder
from eightfold.model.writer import unpack
from lab.hostile.subject import Step, _is_said, examine
from lab.hostile.trial import GOOD, REASONS, Trial, Worker, reason_for
from tests.support.models.single import one_operator

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


def changed(step: Step) -> Step:
    return replace(step, tensors={i: array ^ (i > 0) for i, array in step.tensors.items()})


def with_step(
    name: str, change: Callable[[Step], Step], content: bytes, given: Given, folder: str
) -> Iterator[Step]:
    """The tool, but for what one step of it tells."""
    for step in examine(content, given, folder):
        yield change(step) if step.name == name else step


def endless(content: bytes, given: Given, folder: str) -> Iterator[Step]:
    yield from (Step("check", "fine"), Step("load", "fine"))
    while True:
        pass


def dying(content: bytes, given: Given, folder: str) -> NoReturn:
    raise SystemExit(3)


TOOLS = {
    "no_gate": no_gate,
    "off_by_one": partial(with_step, "golden", changed),
    "wrong_stream": partial(with_step, "stream", changed),
    "wrong_batch": partial(with_step, "batch", changed),
    "golden_refuses": partial(with_step, "golden", lambda _: Step("golden", "refused", "no")),
    "stream_refuses": partial(with_step, "stream", lambda _: Step("stream", "refused", "no")),
    "silent_check": partial(with_step, "load", lambda _: Step("load", "unsaid", "no")),
    "endless": endless,
    "dying": dying,
}


def described(content: bytes, given: Given, folder: str) -> Iterator[Step]:
    """The tool that the file's description names; one process does for all."""
    tool = TOOLS.get(unpack(content).fields.get("Description", ""), examine)
    yield from tool(content, given, folder)


@pytest.fixture(scope="module")
def trial() -> Iterator[Trial]:
    with Trial(seconds=4, work=described) as each:
        yield each


@pytest.mark.parametrize("name", ["CONV_2D", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"])
def test_a_sound_model_is_equal_and_another_refused(trial: Trial, name: str) -> None:
    model, given = random_case(name, case_rng(name, 8))
    verdict = trial.judge(model, given)
    assert (verdict.kind, verdict.step) == ("equal", "golden+stream+batch")
    verdict = trial.judge(relu(2), given)
    assert (verdict.kind, verdict.step) == ("refused", "load")


def test_an_inference_whose_operands_contradict_the_file_is_refused(trial: Trial) -> None:
    model = one_operator("EXPAND_DIMS", [(2, 3)], (2, 1, 3), computed=[(1,)])
    for value, kind in ((1, "equal"), (2, "refused"), (0, "refused")):
        verdict = trial.judge(model, {1: np.array([value], np.int32)})
        assert verdict.kind == kind, verdict
    assert verdict.step == "golden"
    assert "declared shape [2, 1, 3], computed [1, 2, 3]" in verdict.message


def test_an_index_outside_is_refused_by_the_stream_and_by_golden(trial: Trial) -> None:
    model = one_operator("GATHER", [(4,)], (2,), computed=[(2,)], options={"axis": 0})
    for value, kind in ((3, "equal"), (4, "refused"), (-1, "refused")):
        verdict = trial.judge(model, {1: np.array([0, value], np.int32)})
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


MEMORY = 256 << 20


def act(what: str) -> Iterator[str]:
    yield what
    match what:
        case "loop":
            while True:
                pass
        case "exit":
            os._exit(3)
        case "abort":
            os.abort()
        case "sleep":
            time.sleep(60)
        case "allocate":
            try:
                np.ones(MEMORY, np.uint8)
            except MemoryError:
                yield "refused"
    yield "done"


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(act, seconds=1, memory=MEMORY) as each:
        yield each


def test_answers_come_in_order(worker: Worker) -> None:
    assert worker.call("a") == (["a", "done"], "")
    assert worker.call("b") == (["b", "done"], "")


@pytest.mark.parametrize(
    ("what", "end"),
    [("loop", "more than 1 s of processor time"), ("exit", "exit status 3"), ("abort", "SIGABRT")],
)
def test_behind_a_call_that_ends_the_process_there_is_another(
    worker: Worker, what: str, end: str
) -> None:
    assert worker.call(what) == ([what], end)
    assert worker.call("next") == (["next", "done"], "")


def test_a_process_that_waits_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.hostile.trial._PATIENCE", 3)
    with Worker(act, seconds=1) as worker:
        _, end = worker.call("sleep")  # it may not have begun to answer
    assert end == "no answer within 3 s"


def test_memory_is_limited(worker: Worker) -> None:
    assert worker.call("allocate") == (["allocate", "refused", "done"], "")

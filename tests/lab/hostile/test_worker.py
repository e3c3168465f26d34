"""A child process with limits: answers, and how it ends."""

import os
import time
from collections.abc import Iterator

import numpy as np
import pytest

from lab.hostile.worker import Worker

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


@pytest.mark.slow
def test_answers_come_in_order(worker: Worker) -> None:
    assert worker.call("a") == (["a", "done"], "")
    assert worker.call("b") == (["b", "done"], "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "end"),
    [("loop", "more than 1 s of processor time"), ("exit", "exit status 3"), ("abort", "SIGABRT")],
)
def test_behind_a_call_that_ends_the_process_there_is_another(
    worker: Worker, what: str, end: str
) -> None:
    assert worker.call(what) == ([what], end)
    assert worker.call("next") == (["next", "done"], "")


@pytest.mark.slow
def test_a_process_that_waits_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.hostile.worker._PATIENCE", 3)
    with Worker(act, seconds=1) as worker:
        _, end = worker.call("sleep")  # it may not have begun to answer
    assert end == "no answer within 3 s"


def test_memory_is_limited(worker: Worker) -> None:
    assert worker.call("allocate") == (["allocate", "refused", "done"], "")

"""The verdict on a file: what the tool did with it, and what LiteRT says."""

import math
import re
import signal
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from eightfold.common.child import Child, Closing, NoAnswer, ending
from eightfold.model import normalize_dimensions
from eightfold.model.graph import Arrays
from eightfold.operators import load_model
from eightfold.run.reference import oracle
from lab.hostile.subject import STEPS, Step, examine, fitting_inputs, inferences


@dataclass(frozen=True)
class Reason:
    """A rule of LiteRT's that is not followed.

    ``says``: what LiteRT's message has in it, a regular expression. ``rule``: what LiteRT refuses.
    ``why``: why the file is accepted here.
    """

    says: str
    rule: str
    why: str


REASONS = (
    Reason(
        "not a valid Flatbuffer buffer",
        "a file that the flatbuffer verifier refuses: a misaligned offset, text without its end",
        "nothing outside of the file is read, and what it says has one meaning",
    ),
    Reason(
        "Didn't find op for builtin opcode '.*' version",
        "a version of an operator that this LiteRT does not register",
        "versions say which runtimes know a model's types and options; what those are is checked "
        "itself; in other subgraphs nothing is run",
    ),
    Reason(
        "Did not get tensors in subgraph 0",
        "a graph without any tensor",
        "it computes nothing, and says so: no inputs, operators or outputs",
    ),
)
"""All of them; docs/testplan.md lists them."""


def reason_for(message: str) -> Reason | None:
    """Return why a file is accepted that LiteRT refuses with ``message``; None: it should not."""
    return next((reason for reason in REASONS if re.search(reason.says, message)), None)


@cache
def _oracle() -> oracle.Oracle:
    """Return the oracle of this process, which is kept between files."""
    return oracle.Oracle(timeout=600.0)  # what limits it is the processor time of the process


@dataclass(frozen=True)
class Opinion:
    """LiteRT's answer.

    ``outcome``: ``equal``, ``different``, ``rejected`` (an error of its preparation), ``failed``
    (one of its kernels, which may be about values) or ``aborted`` (its process ended).
    """

    outcome: str
    message: str = ""


def ask_litert(content: bytes, given: Arrays, computed: Arrays) -> Iterator[Opinion]:
    """Yield whether LiteRT runs a file and computes the same tensors.

    ``content``: a file that loads. ``given``: as for `lab.hostile.subject.examine`. ``computed``:
    golden's tensors by index; empty: only whether LiteRT runs it.
    """
    litert = _oracle()
    graph = load_model(content)
    inputs = fitting_inputs(graph, given)
    model = normalize_dimensions(content) if graph.notes() else content
    try:
        expected: dict[int, np.ndarray] = {}
        for frame in range(inferences(graph)):
            expected = oracle.with_state(graph, litert.run(model, inputs, next_frame=frame > 0))
        if computed and oracle.deviates(graph):  # each operator alone
            expected = oracle.litert_tensors(litert, model, graph, inputs, computed)
    except oracle.OracleRejected as error:
        at_run = "failed to invoke" in str(error)
        yield Opinion("failed" if at_run else "rejected", str(error))
        return
    except oracle.OracleAborted as error:
        yield Opinion("aborted", str(error))
        return
    for operator in graph.operators:
        for index in operator.outputs:
            known = computed and index in expected
            if known and (said := difference(computed[index], expected[index])):
                yield Opinion("different", f"{operator}, tensor {index}: {said}")
                return
    yield Opinion("equal")


def difference(got: np.ndarray, expected: np.ndarray) -> str:
    """Return how two tensors differ, empty if not; NaN equals NaN."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return f"{got.dtype}{list(got.shape)}, not {expected.dtype}{list(expected.shape)}"
    different = np.argwhere(oracle.differ(got, expected))
    if not different.size:
        return ""
    place = tuple(different[0].tolist())
    return f"{len(different)} of {got.size} differ, {got[place]}, not {expected[place]}"


GOOD = ("refused", "equal", "tolerated")
"""Kinds of verdicts that are as they should be."""

RUNS = ("golden", "stream", "batch")
"""Steps of `lab.hostile.subject.STEPS` that run a file: all equal golden."""


@dataclass(frozen=True)
class Verdict:
    """What came of one file."""

    kind: str
    """``refused``: with one line. ``equal``: it ran, as in LiteRT. ``traceback``, ``time``,
    ``memory``, ``died``: a step raised what is not ours, took too long, too much, or ended the
    process. ``accepted``: LiteRT refuses it; ``tolerated``: for one of
    `lab.hostile.trial`. ``different``: LiteRT, or golden, computes something else.
    ``unsaid``: it is refused for what ``check`` does not report. ``disagreement``: the
    accelerator, golden, or golden's second inference refuses what another one runs."""

    step: str
    """The last step of `lab.hostile.subject.STEPS` that counted."""

    message: str
    """In one line."""

    def __str__(self) -> str:
        """The verdict in one line, which `from_line` reads."""
        return f"{self.kind}, {self.step}" + (f": {self.message}" if self.message else "")

    @classmethod
    def from_line(cls, line: str) -> "Verdict | None":
        """Return the verdict of a line; None if it is another line."""
        found = re.fullmatch(r"(\w+), ([\w+]+)(?:: (.*))?", line, re.DOTALL)
        return cls(found[1], found[2], found[3] or "") if found else None


Work = Callable[..., Iterator[Any]]
"""A function of a module, which yields its answers one by one."""

_PATIENCE = 60
"""Wall-clock seconds per second of processor time: other processes run on the machine too."""


class Worker(Child):
    """A child process that calls a function; it is started again behind a call that ended it.

    Use it as a context manager, or call `close`. ``seconds``: of processor time for one call.
    ``memory``: bytes that the process may hold, what it needs by itself included.
    """

    def __init__(self, work: Work, seconds: float = 10, memory: int = 2 << 30) -> None:
        patience = _PATIENCE * seconds
        super().__init__(_serve, work, seconds, memory, timeout=patience, name="the worker")
        self._seconds = seconds

    def call(self, *args: Any) -> tuple[list[Any], str]:
        """Return what the function yielded, and how the process ended; empty if it lives."""
        answers: list[Any] = []
        try:
            self.begin()
            more = self.ask(args)
            while more:
                answers += more
                more = self.ask()
        except NoAnswer as error:
            if error.status is None:
                return answers, f"no answer within {_PATIENCE * self._seconds:g} s"
            if error.status == -signal.SIGXCPU:
                return answers, f"more than {self._seconds:g} s of processor time"
            return answers, ending(error.status)
        return answers, ""


def _serve(work: Work, seconds: float, memory: int) -> Generator[Any, Any, None]:
    """Call the function: the child's side of `Worker`, which yields each answer as the only one of
    a list, and an empty one behind them."""
    import resource  # not on Windows

    # The address space may grow until what is resident could be so many bytes.
    size, resident = Path("/proc/self/statm").read_text().split()[:2]
    limit = memory + (int(size) - int(resident)) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    args = yield
    while True:
        used = resource.getrusage(resource.RUSAGE_SELF)
        soonest = math.ceil(used.ru_utime + used.ru_stime + seconds)
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (soonest, hard))
        for answer in work(*args):
            yield [answer]
        args = yield []


class Trial(Closing):
    """Two child processes with limits, the tool's and LiteRT's, which judge files.

    Use it as a context manager. ``seconds``: of processor time for a file. ``memory``: bytes that
    the tool's process may hold. ``work``: what is done with a file: `lab.hostile.subject.examine`,
    unless this is tested.
    """

    def __init__(self, seconds: float = 10, memory: int = 2 << 30, work: Work = examine) -> None:
        self._subject = Worker(work, seconds, memory)
        self._litert = Worker(ask_litert, 4 * seconds, 2 * memory)
        self._folder = tempfile.TemporaryDirectory()

    def close(self) -> None:
        """End both processes."""
        self._subject.close()
        self._litert.close()
        self._folder.cleanup()

    def judge(self, content: bytes, given: Arrays) -> Verdict:
        """Return the verdict on a file, with inputs by tensor index where they fit."""
        steps, end = self._subject.call(content, dict(given), self._folder.name)
        done = {step.name: step for step in steps}
        if fault := _fault(done, end):
            return fault
        accepted = [name for name in RUNS if name in done and done[name].outcome == "fine"]
        last = done.get("golden", steps[-1])
        if not accepted:
            return Verdict("refused", last.name, last.message)
        opinion = self._opinion(content, given, last.tensors)
        if opinion.outcome != "equal" and not _is_tolerated(opinion):
            # LiteRT's own memory may have been damaged by a file before this one.
            self._litert.stop()
            opinion = self._opinion(content, given, last.tensors)
        names = "+".join(accepted)
        if opinion.outcome == "different":
            return Verdict("different", names, opinion.message)
        if opinion.outcome != "equal":
            kind = "tolerated" if _is_tolerated(opinion) else "accepted"
            return Verdict(kind, names, opinion.message)
        return _compared(done) or Verdict("equal", names, "")

    def _opinion(self, content: bytes, given: Arrays, computed: dict[int, np.ndarray]) -> Opinion:
        opinions, end = self._litert.call(content, dict(given), computed)
        return opinions[0] if opinions else Opinion("aborted", end)


def _is_tolerated(opinion: Opinion) -> bool:
    return opinion.outcome in ("rejected", "aborted") and reason_for(opinion.message) is not None


def _fault(done: Mapping[str, Step], end: str) -> Verdict | None:
    """Return the verdict if a step ended the process or raised what is not ours."""
    if end:
        step = next(name for name in STEPS if name not in done)
        timed = "processor time" in end or "no answer" in end
        return Verdict("time" if timed else "died", step, end)
    for step in done.values():
        if step.outcome == "traceback":
            kind = "memory" if "MemoryError" in step.message else "traceback"
            return Verdict(kind, step.name, step.message)
        if step.outcome == "unsaid":
            return Verdict("unsaid", step.name, step.message)
    return None


def _compared(done: Mapping[str, Step]) -> Verdict | None:
    """Return a verdict if ways to run a file differ: in a tensor, or in that one refuses it."""
    golden = done["golden"]
    for step in (done[name] for name in RUNS):
        if step.outcome == "refused":
            return Verdict("disagreement", step.name, step.message)
        for index, array in step.tensors.items():
            if said := difference(array, golden.tensors[index]):
                return Verdict("different", step.name, f"tensor {index}: {said} (golden)")
    return None

"""The verdict on a file: what the tool did with it, and what LiteRT says."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import numpy as np

from eightfold.hostile.litert import Opinion, ask_litert
from eightfold.hostile.subject import STEPS, Step, examine
from eightfold.hostile.worker import Worker

GOOD = ("refused", "equal")
"""Kinds of verdicts that are as they should be."""


@dataclass(frozen=True)
class Verdict:
    """What came of one file."""

    kind: str
    """``refused``: with one line. ``equal``: it ran, as in LiteRT. ``traceback``, ``time``,
    ``memory``, ``died``: a step raised what is not ours, took too long, too much, or ended the
    process. ``accepted``: LiteRT refuses it. ``different``: LiteRT computes something else."""

    step: str
    """The last step of `eightfold.hostile.subject.STEPS` that counted."""

    message: str
    """In one line."""


class Trial:
    """Two child processes with limits, the tool's and LiteRT's, which judge files.

    Use it as a context manager.

    Parameters
    ----------
    seconds
        Of processor time for a file.
    memory
        Bytes that the tool's process may hold.
    """

    def __init__(self, seconds: float = 10, memory: int = 2 << 30) -> None:
        self._subject = Worker(examine, seconds, memory)
        self._litert = Worker(ask_litert, 4 * seconds, 2 * memory)
        self._folder = tempfile.TemporaryDirectory()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._subject.close()
        self._litert.close()
        self._folder.cleanup()

    def judge(self, content: bytes, given: Mapping[int, np.ndarray]) -> Verdict:
        """Return the verdict on a file, with inputs by tensor index where they fit."""
        steps, end = self._subject.call(content, dict(given), self._folder.name)
        if end:
            step = STEPS[len(steps)]
            kind = "time" if "s of processor" in end or "no answer" in end else "died"
            return Verdict(kind, step, end)
        for step in steps:
            if step.outcome == "traceback":
                kind = "memory" if "MemoryError" in step.message else "traceback"
                return Verdict(kind, step.name, step.message)
        accepted = [s for s in steps if s.outcome == "fine" and s.name in ("compile", "golden")]
        if not accepted:
            last: Step = steps[-1]
            return Verdict("refused", last.name, last.message)
        opinions, end = self._litert.call(content, dict(given), steps[-1].tensors)
        opinion = opinions[0] if opinions else Opinion("aborted", end)
        if opinion.outcome in ("rejected", "aborted"):
            names = "+".join(step.name for step in accepted)
            return Verdict("accepted", names, opinion.message)
        if steps[-1].outcome == "refused":
            return Verdict("refused", steps[-1].name, steps[-1].message)
        return Verdict(opinion.outcome, "golden", opinion.message)

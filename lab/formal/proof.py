"""What a proof is: what it is about, how it ended, and what it must refute."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

from eightfold.common.errors import InputError

How = Literal["proved", "refuted", "unknown", "skipped"]
"""How a proof ended: it holds; there is an example where it does not; the time was over; what
proves it is not installed."""


@dataclass(frozen=True)
class Finding:
    """How a proof ended, in a word, in a line, and with the counterexample if there is one."""

    how: How
    message: str
    log: str = ""


@dataclass(frozen=True)
class Break:
    """A fault in the source of the hardware, which a proof has to refute.

    ``before``, ``after``: a text that the proof's file has once, and what takes its place.
    """

    before: str
    after: str

    def applied(self, text: str) -> str:
        if (count := text.count(self.before)) != 1:
            raise InputError(f"{self.before!r} is there {count} times; a break replaces one text")
        return text.replace(self.before, self.after)


@dataclass(frozen=True, kw_only=True)
class Proof(ABC):
    """Something that holds of the hardware.

    - ``name``: of this proof alone, such as ``skid``.
    - ``family``: what proofs of the same claim at several sizes have in common; they are a row of a
      table.
    - ``file``: what of the hardware it is about, such as ``hw/blocks/skid.py``.
    - ``text``: what holds, as a sentence without its full stop.
    - ``assumed``: of what is around the unit, as such a sentence; empty if nothing is.
    - ``limit``: CPU seconds that it may take.
    - ``long``: whether it takes more than some seconds.
    - ``breaks``: faults that it refutes.
    """

    name: str
    family: str = ""
    file: str
    text: str
    assumed: str = ""
    limit: int = 60
    long: bool = False
    breaks: tuple[Break, ...] = ()

    @property
    @abstractmethod
    def method(self) -> str:
        """By what it is proved, and up to where: ``unbounded, by pdr``."""

    @abstractmethod
    def prove(self) -> Finding:
        """Return how the proof ends on the hardware as it is."""

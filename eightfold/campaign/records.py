"""What passes between a campaign, its workers and its folder: units, cases, failures."""

import hashlib
import json
import re
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, cast, get_args

import numpy as np

from eightfold.common.child import one_line
from eightfold.common.errors import InputError
from eightfold.golden.quantization import Reference
from eightfold.sim.simulator.toolchain import Simulator
from eightfold.target.config import AcceleratorConfig

Verdict = Literal["passed", "failed", "error", "refused", "lost"]
"""The verdict of a case: equal; different; ended by an exception; not taken by the reference or the
accelerator, so that there was nothing to compare; its unit was tried three times without an end."""

GOOD = ("passed", "refused")
"""Verdicts of a campaign that is fine."""


@dataclass(frozen=True, kw_only=True)
class Computing:
    """What computes the cases, and how."""

    backend: str
    """``golden``, ``verilator`` or ``icarus``; ``tests`` where tests choose it, ``solver`` where
    something is proved."""
    config: str = ""
    """Name of the accelerator's configuration; empty on golden."""
    settings: str = ""
    """The configuration's fields, as JSON."""
    netlist: str = ""
    """The netlist that is simulated in place of the RTL, such as ``ecp5:0``; empty for the RTL."""
    reference: Reference = "litert"
    """Whose kernels golden is to equal."""
    stall: float | None = None
    """Probability of a pause per cycle and channel of the memory; None: 0, 0.1 and 0.4 by turns."""
    coverage: bool = False
    """Whether functional coverage is sampled."""


@dataclass(frozen=True, kw_only=True)
class Unit(Computing):
    """A unit of work; the same unit gives the same outcome on every machine.

    ``suite``: the name of a suite, see `eightfold.campaign.suite`; ``operator``: what the cases are
    about; empty where a suite has no operators. ``first``, ``count``: seeds of the cases: ``first``
    and those that follow.
    """

    suite: str
    operator: str
    first: int
    count: int

    @property
    def simulator(self) -> Simulator:
        """The backend, where it is a simulator."""
        return cast(Simulator, self.backend)

    @property
    def seeds(self) -> range:
        """Seeds of the cases."""
        return range(self.first, self.first + self.count)

    @property
    def column(self) -> str:
        """What computes: the backend, its configuration, and the netlist if there is one."""
        return " ".join(self._place).rstrip()

    @property
    def _place(self) -> tuple[str, ...]:
        return (self.backend, self.config, self.netlist)

    @property
    def name(self) -> str:
        """A text that tells the unit from all others of a campaign, and can be a file's name."""
        last = self.first + self.count - 1
        return _file_name((self.suite, self.operator, f"{self.first}..{last}", *self._place))

    def case_name(self, seed: int) -> str:
        """Return the name of a case: of its folder among the failures, and for ``repeat``."""
        return _file_name((self.suite, self.operator, str(seed), *self._place))

    def configuration(self) -> AcceleratorConfig:
        """Return the accelerator's configuration; raise `InputError` if the settings are none."""
        try:
            return AcceleratorConfig(**json.loads(self.settings))
        except (ValueError, TypeError, RecursionError) as error:
            raise InputError(f"configuration {self.config}: is damaged: {error}") from None

    def stalls(self, turn: int) -> float:
        """Return the probability of a pause in simulation number ``turn``."""
        return (0.0, 0.1, 0.4)[turn % 3] if self.stall is None else self.stall

    def as_record(self) -> str:
        """Return the unit as JSON, by which it is known in a database."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_record(cls, text: str) -> "Unit":
        """Return the unit of a record, every field of its type.

        Raises `InputError` if it is none.
        """
        try:
            unit = cls(**json.loads(text))
            text.encode()  # no halves of characters
            unit.settings.encode()
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise InputError(f"its record is {str(text)[:80]!r}") from None
        for each in fields(cls):
            value = getattr(unit, each.name)
            if type(value) not in _TYPES.get(each.name, (str,)):
                raise InputError(f"its {each.name} is {value!r}")
        if unit.first < 0 or unit.count < 1 or unit.reference not in get_args(Reference):
            raise InputError(f"its record is {text[:80]!r}")
        if unit.stall is not None and not 0 <= unit.stall < 1:
            raise InputError(f"its stall is {unit.stall!r}")
        return unit


_TYPES: dict[str, tuple[type, ...]] = {
    "first": (int,),
    "count": (int,),
    "coverage": (bool,),
    "stall": (int, float, type(None)),
}
"""The fields of a `Unit` that are no texts."""


def _file_name(parts: tuple[str, ...]) -> str:
    return "-".join(re.sub(r"[^\w.]+", "_", part) for part in parts if part)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What is kept of a case that failed."""

    model: bytes | None = None
    """The ``.tflite`` file; None where the case has none."""
    inputs: Mapping[int, np.ndarray] = field(default_factory=dict)
    expected: Mapping[int, np.ndarray] = field(default_factory=dict)
    got: Mapping[int, np.ndarray] = field(default_factory=dict)
    """Tensors by index; ``expected`` and ``got`` are those that differ."""
    log: str = ""
    """What else helps: a traceback, a bench's words, the reference's arithmetic step by step."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Contents of other files by name, such as what the case was before it was shrunk."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """How a case ended; ``message`` says in one line why it did not pass."""

    seed: int
    verdict: Verdict
    operator: str = ""
    message: str = ""
    evidence: Evidence | None = None


def error_case(seed: int, operator: str, error: Exception, model: bytes | None = None) -> Case:
    """Return the case that an exception has ended, whatever its text has; ``model`` is kept."""
    words = plain(one_line(f"{type(error).__name__}: {error}"))[:500]
    evidence = Evidence(model=model, log=plain("".join(traceback.format_exception(error))))
    return Case(seed=seed, operator=operator, verdict="error", message=words, evidence=evidence)


def contradiction(unit: Unit) -> "Result":
    """Return the result of a unit that gave something else on another machine."""
    case = Case(
        seed=unit.first,
        operator=unit.operator,
        verdict="error",
        message="two campaigns that are merged have other results of it, which must not be",
    )
    return Result([replace(case, seed=seed) for seed in unit.seeds])


def plain(text: str) -> str:
    """Return a text that can be written as UTF-8, whatever names a file has."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(frozen=True)
class Result:
    """What a unit gave.

    ``hits``: models by operator, point and bin of functional coverage. ``answers``: what else is to
    be kept, as a file's content. ``seconds`` is what it took, all else the same on every machine.
    """

    cases: Sequence[Case]
    hits: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    answers: bytes = b""
    seconds: float = 0.0

    @property
    def answers_digest(self) -> str | None:
        """SHA-256 of the answers; None if there are none."""
        return hashlib.sha256(self.answers).hexdigest() if self.answers else None

    @property
    def digest(self) -> str:
        """SHA-256 of verdicts, messages, hits, answers: what must be the same on every machine."""
        cases = [(c.operator, c.seed, c.verdict, c.message) for c in self.cases]
        return digest_of(cases, self.hits, self.answers_digest)


def digest_of(
    cases: Iterable[Sequence[Any]], hits: Mapping[tuple[str, str, str], int], answers: str | None
) -> str:
    """Return the digest of a `Result`.

    ``cases``: operator, seed, verdict and message of each; ``hits``: as a result has them;
    ``answers``: SHA-256 of its answers, if it has any.
    """
    facts: list[Any] = sorted(cases)
    facts += [[*place, count] for place, count in sorted(hits.items())]
    facts += [answers] if answers else []
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

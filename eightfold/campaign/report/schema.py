"""The report of a campaign as JSON: every field, as docs/campaign-json.md lists them."""

from typing import Any, TypedDict


class CaseJson(TypedDict):
    """A case of a unit that has ended."""

    name: str
    """What ``eightfold campaign repeat`` takes, and its folder in ``DIR/failures`` is called."""

    suite: str
    """As the unit says."""

    operator: str
    """What it is about; empty where a suite has no operators."""

    seed: int
    """Of its model and inputs; of a mutant its number in the file."""

    backend: str
    """As the unit says."""

    config: str
    """As the unit says."""

    netlist: str
    """As the unit says."""

    verdict: str
    """``passed``, ``failed``, ``error``, ``refused`` or ``lost``."""

    message: str
    """Why it did not pass; empty if it did, but for a mutant, which has passed if a test caught it,
    and for a mutated model, whose message is how it ended.
    """

    unit: int
    """The unit that it ran in."""

    repeat: str | None
    """The command that repeats it; null if it passed or was refused."""


class UnitJson(TypedDict):
    """A unit of work: what a process is given at a time."""

    unit: int
    """Its number, in the order of the plan."""

    suite: str
    """What runs, such as ``operators``."""

    operator: str
    """What its cases are about; empty where a suite has no operators."""

    backend: str
    """``golden``, ``verilator`` or ``icarus``; ``tests`` where the suite ``mutants`` runs tests."""

    config: str
    """The accelerator's configuration; empty on golden."""

    netlist: str
    """The netlist that was simulated, such as ``ecp5:0``; empty for the RTL."""

    first: int
    """Seed of its first case."""

    count: int
    """How many cases it has."""

    state: str
    """``done``, ``lost`` or ``waiting``."""

    seconds: float | None
    """How long it took; null while it waits."""

    ended: float | None
    """When it ended, in seconds since 1970."""

    worker: str | None
    """Which process ran it, and on which machine."""


class EndJson(TypedDict):
    """A way in which mutated models ended."""

    kind: str
    """The verdict: ``refused``, ``equal`` or ``tolerated``, or what is wrong."""

    step: str
    """The last step that counted, or all that ran it, ``golden+stream+batch``."""

    files: int
    """How many files ended so."""


class HostileJson(TypedDict):
    """What became of mutated models."""

    files: int
    """Mutated models that have been judged."""

    ends: list[EndJson]
    """How they ended, what is wrong first."""


class MutantsJson(TypedDict):
    """What became of mutants of the hardware."""

    drawn: int
    """Mutants that have been judged."""

    valid: int
    """Of these, how many are other hardware: ``caught``, ``survived`` and ``accepted``."""

    caught: int
    """A test failed, or had no end."""

    survived: int
    """No test failed."""

    accepted: int
    """May survive, for a reason that is known."""

    equivalent: int
    """Are the same hardware."""

    invalid: int
    """Are no hardware: they do not elaborate."""

    share: float | None
    """Of the valid ones, how many were caught; null if none is valid."""

    kinds: list[dict[str, Any]]
    """The same fields for each ``kind``."""

    files: list[dict[str, Any]]
    """The same fields for each ``file``."""


class BinJson(TypedDict):
    """A bin of functional coverage."""

    operator: str
    """The operator."""

    point: str
    """What is looked at, such as ``zero point``."""

    bin: str
    """One of its values, such as ``-128``."""

    hits: int
    """Models that have shown it."""

    excluded: str | None
    """Why no model can."""


class CoverageJson(TypedDict):
    """What was seen of functional coverage."""

    holds: bool
    """Whether every bin that is not excluded was hit, and none that is."""

    covered: int
    """Bins that were hit."""

    missing: int
    """Bins that were not, and are not excluded."""

    excluded: int
    """Bins that no model can hit."""

    bins: list[BinJson]
    """Every bin of the operators that were asked for."""


class SessionJson(TypedDict):
    """A time that a campaign ran."""

    started: float
    """Seconds since 1970, in UTC."""

    ended: float | None
    """Likewise; null while it runs, and if it was killed."""

    workers: int
    """Processes that ran units."""

    why: str | None
    """Why it ended."""


class VerdictsJson(TypedDict):
    """Numbers of cases, by their verdict."""

    failed: int
    """Something was different."""

    error: int
    """An exception ended the case."""

    lost: int
    """Their units were tried three times, and each time the worker died or hung."""

    waiting: int
    """Have not run."""

    passed: int
    """All that was compared was equal."""

    refused: int
    """The reference or the accelerator does not take the model, so that there was nothing to
    compare.
    """


class CampaignJson(TypedDict):
    """What a campaign has shown so far."""

    schema_version: int
    """Version of this format."""

    state: str
    """``passed``, ``failed`` or ``incomplete``."""

    holds: bool
    """Whether it passed: every case has run, none failed, ended by an error or was lost, some were
    compared, and coverage was reached if it was asked for.
    """

    summary: str
    """The verdict in one sentence."""

    verdicts: VerdictsJson
    """Numbers of cases."""

    folder: str
    """The campaign's folder as it was given."""

    commands: list[str]
    """The command that asks for this campaign again; one for each campaign that was merged into it.
    """

    asked: dict[str, Any]
    """The options of that command, as ``campaign.json`` has them."""

    created: str
    """When it was begun, in UTC."""

    versions: dict[str, Any]
    """Versions of Python, Eightfold and the packages that compute and compare, by name."""

    commit: str | None
    """The checkout's commit, with ``-dirty`` if it was changed; null for an installed package."""

    again: list[str | None]
    """Such commits (strings or null) at which failed cases ran again, by ``resume --failed``."""

    machine: dict[str, Any]
    """``platform`` and ``processors`` of the machine that began it."""

    sessions: list[SessionJson]
    """Each time that it ran."""

    coverage: CoverageJson | None
    """Functional coverage; null if none was asked for."""

    mutants: MutantsJson | None
    """What became of mutants of the hardware; null if there are none."""

    hostile: HostileJson | None
    """What became of mutated models; null if there are none."""

    units: list[UnitJson]
    """The units of work, run or not."""

    cases: list[CaseJson]
    """The cases of the units that have ended."""

"""A campaign as one JSON object, whose fields docs/campaign-json.md lists."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Annotated, Any, TypedDict

from eightfold.campaign.coverage import Report
from eightfold.campaign.folder import asked_commands, repeat_command
from eightfold.campaign.records import GOOD
from eightfold.campaign.report.facts import WORST_FIRST
from eightfold.campaign.report.verdict import Source
from eightfold.campaign.store import Planned, Results
from eightfold.campaign.suite import suites


class CaseJson(TypedDict):
    """A case of a unit that has ended."""

    name: Annotated[
        str, "what `eightfold campaign repeat` takes, and its folder in `DIR/failures` is called"
    ]
    suite: Annotated[str, "as the unit says"]
    operator: Annotated[str, "what it is about; empty where a suite has no operators"]
    seed: Annotated[int, "of its model and inputs; of a mutant its number in the file"]
    backend: Annotated[str, "as the unit says"]
    config: Annotated[str, "as the unit says"]
    netlist: Annotated[str, "as the unit says"]
    verdict: Annotated[str, "`passed`, `failed`, `error`, `refused` or `lost`"]
    message: Annotated[
        str,
        "why it did not pass; empty if it did, but for a mutant, which has passed if a test "
        "caught it, and for a mutated model, whose message is how it ended",
    ]
    unit: Annotated[int, "the unit that it ran in"]
    repeat: Annotated[str | None, "the command that repeats it; null if it passed or was refused"]


class UnitJson(TypedDict):
    """A unit of work: what a process is given at a time."""

    unit: Annotated[int, "its number, in the order of the plan"]
    suite: Annotated[str, "what runs, such as `operators`"]
    operator: Annotated[str, "what its cases are about; empty where a suite has no operators"]
    backend: Annotated[
        str, "`golden`, `verilator` or `icarus`; `tests` where the suite `mutants` runs tests"
    ]
    config: Annotated[str, "the accelerator's configuration; empty on golden"]
    netlist: Annotated[str, "the netlist that was simulated, such as `ecp5:0`; empty for the RTL"]
    first: Annotated[int, "seed of its first case"]
    count: Annotated[int, "how many cases it has"]
    state: Annotated[str, "`done`, `lost` or `waiting`"]
    seconds: Annotated[float | None, "how long it took; null while it waits"]
    ended: Annotated[float | None, "when it ended, in seconds since 1970"]
    worker: Annotated[str | None, "which process ran it, and on which machine"]


class EndJson(TypedDict):
    """A way in which mutated models ended."""

    kind: Annotated[str, "the verdict: `refused`, `equal` or `tolerated`, or what is wrong"]
    step: Annotated[str, "the last step that counted, or all that ran it, `golden+stream+batch`"]
    files: Annotated[int, "how many files ended so"]


class FileJson(TypedDict):
    """What became of somebody's own file."""

    file: Annotated[str, "its path, from the folder or list that was given on"]
    on: Annotated[str, "backend and configuration"]
    verdict: Annotated[str, "of its case"]
    status: Annotated[
        str, "`runs`, `fallback` or `refused`, as `eightfold check` has it; `error` or `lost`"
    ]
    cycles: Annotated[str, "by the estimate, as of `check`; `-` if there are none"]
    golden: Annotated[str, "the runtime that golden equals; `differs`, `not compared` or `-`"]
    rtl: Annotated[str, "`golden` if it equals that; `differs`, `fails`, `not simulated` or `-`"]
    why: Annotated[str, "why not; empty if nothing is in the way"]


class FilesJson(TypedDict):
    """What became of somebody's own files."""

    rows: Annotated[list[FileJson], "the files that have ended, by path"]


class HostileJson(TypedDict):
    """What became of mutated models."""

    files: Annotated[int, "mutated models that have been judged"]
    ends: Annotated[list[EndJson], "how they ended, what is wrong first"]


class MutantsJson(TypedDict):
    """What became of mutants of the hardware."""

    drawn: Annotated[int, "mutants that have been judged"]
    valid: Annotated[
        int, "of these, how many are other hardware: `caught`, `survived` and `accepted`"
    ]
    caught: Annotated[int, "A test failed, or had no end"]
    survived: Annotated[int, "no test failed"]
    accepted: Annotated[int, "may survive, for a reason that is known"]
    equivalent: Annotated[int, "are the same hardware"]
    invalid: Annotated[int, "are no hardware: they do not elaborate"]
    share: Annotated[float | None, "of the valid ones, how many were caught; null if none is valid"]
    kinds: Annotated[list[dict[str, Any]], "the same fields for each `kind`"]
    files: Annotated[list[dict[str, Any]], "the same fields for each `file`"]


class BinJson(TypedDict):
    """A bin of functional coverage."""

    operator: Annotated[str, "the operator"]
    point: Annotated[str, "what is looked at, such as `zero point`"]
    bin: Annotated[str, "one of its values, such as `-128`"]
    hits: Annotated[int, "models that have shown it"]
    excluded: Annotated[str | None, "why no model can"]


class CoverageJson(TypedDict):
    """What was seen of functional coverage."""

    holds: Annotated[bool, "whether every bin that is not excluded was hit, and none that is"]
    covered: Annotated[int, "bins that were hit"]
    missing: Annotated[int, "bins that were not, and are not excluded"]
    excluded: Annotated[int, "bins that no model can hit"]
    bins: Annotated[list[BinJson], "every bin of the operators that were asked for"]


class SessionJson(TypedDict):
    """A time that a campaign ran."""

    started: Annotated[float, "seconds since 1970, in UTC"]
    ended: Annotated[float | None, "likewise; null while it runs, and if it was killed"]
    workers: Annotated[int, "processes that ran units"]
    why: Annotated[str | None, "why it ended"]


class VerdictsJson(TypedDict):
    """Numbers of cases, by their verdict."""

    failed: Annotated[int, "something was different"]
    error: Annotated[int, "an exception ended the case"]
    lost: Annotated[
        int, "their units were tried three times, and each time the worker died or hung"
    ]
    waiting: Annotated[int, "have not run"]
    passed: Annotated[int, "all that was compared was equal"]
    refused: Annotated[
        int,
        "the reference or the accelerator does not take the model, so that there was "
        "nothing to compare",
    ]


class CampaignJson(TypedDict):
    """What a campaign has shown so far."""

    schema_version: Annotated[int, "version of this format"]
    state: Annotated[str, "`passed`, `failed` or `incomplete`"]
    holds: Annotated[
        bool,
        "whether it passed: every case has run, none failed, ended by an error or was lost, "
        "some were compared, and coverage was reached if it was asked for",
    ]
    summary: Annotated[str, "the verdict in one sentence"]
    verdicts: Annotated[VerdictsJson, "numbers of cases"]
    folder: Annotated[str, "the campaign's folder as it was given"]
    commands: Annotated[
        list[str],
        "the command that asks for this campaign again; one for each campaign that was "
        "merged into it",
    ]
    asked: Annotated[dict[str, Any], "the options of that command, as `campaign.json` has them"]
    created: Annotated[str, "when it was begun, in UTC"]
    versions: Annotated[
        dict[str, Any],
        "versions of Python, Eightfold and the packages that compute and compare, by name",
    ]
    commit: Annotated[
        str | None,
        "the checkout's commit, with `-dirty` if it was changed; null for an installed package",
    ]
    again: Annotated[
        list[str | None],
        "such commits (strings or null) at which failed cases ran again, by `resume --failed`",
    ]
    machine: Annotated[dict[str, Any], "`platform` and `processors` of the machine that began it"]
    sessions: Annotated[list[SessionJson], "each time that it ran"]
    coverage: Annotated[CoverageJson | None, "functional coverage; null if none was asked for"]
    files: Annotated[FilesJson | None, "what became of your own files; null if there are none"]
    hostile: Annotated[HostileJson | None, "what became of mutated models; null if there are none"]
    mutants: Annotated[
        MutantsJson | None, "what became of mutants of the hardware; null if there are none"
    ]
    units: Annotated[list[UnitJson], "the units of work, run or not"]
    cases: Annotated[list[CaseJson], "the cases of the units that have ended"]


SCHEMA_VERSION = 1
"""Counts up when a field goes or changes its meaning, not when one comes."""


def write_json(file: IO[bytes], source: Source) -> None:
    """Write a campaign to an open file, unit by unit: memory does not grow with its cases."""
    folder, results, standing, facts = source
    verdict = standing.verdict
    head = {
        "schema_version": SCHEMA_VERSION,
        "state": verdict.state,
        "holds": standing.holds,
        "summary": verdict.sentence,
        "verdicts": {name: standing.counts[name] for name in WORST_FIRST},
        "folder": str(folder.path),
        "commands": asked_commands(facts["asked"], folder.path),
        "asked": facts["asked"],
        "created": facts["created"],
        "versions": facts["versions"],
        "commit": facts["commit"],
        "again": facts.get("again", []),
        "machine": facts["machine"],
        "sessions": [
            {"started": started, "ended": ended, "workers": workers, "why": why}
            for started, ended, workers, why in results.sessions()
        ],
        "coverage": _coverage(standing.coverage),
        **{suite.name: None for suite in suites().values() if suite.section},
        **{name: section.figures for name, section in standing.sections.items()},
    }
    for name, value in head.items():
        opening = "{\n" if name == "schema_version" else ""
        file.write(f"{opening}{json.dumps(name)}: {json.dumps(value, indent=1)},\n".encode())
    _write_list(file, "units", map(_unit, results.units()))
    file.write(b",\n")
    _write_list(file, "cases", _cases(results, folder.path))
    file.write(b"\n}\n")


def _write_list(file: IO[bytes], name: str, values: Iterable[Mapping[str, Any]]) -> None:
    """Write a list with a value on each line."""
    file.write(f'"{name}": ['.encode())
    before = "\n"
    for value in values:
        file.write(f"{before}{json.dumps(value)}".encode())
        before = ",\n"
    file.write(b"\n]")


def _unit(planned: Planned) -> dict[str, Any]:
    known = vars(planned.unit) | planned._asdict() | {"unit": planned.number}
    return {field: known[field] for field in UnitJson.__annotations__}


def _cases(results: Results, folder: Path) -> Iterator[dict[str, Any]]:
    for planned in results.units():
        unit = planned.unit
        for case in results.cases(planned.number):
            name = unit.case_name(case.seed)
            repeat = None if case.verdict in GOOD else repeat_command(folder, name, unit)
            known = vars(unit) | vars(case)
            known |= {"name": name, "unit": planned.number, "repeat": repeat}
            yield {field: known[field] for field in CaseJson.__annotations__}


def _coverage(report: Report | None) -> CoverageJson | None:
    if report is None:
        return None
    return {
        "holds": report.holds,
        "covered": report.covered,
        "missing": len(report.missing),
        "excluded": len(report.excluded),
        "bins": [
            {
                "operator": b.operator,
                "point": b.point,
                "bin": b.name,
                "hits": hits,
                "excluded": report.excluded.get(b),
            }
            for b, hits in report.hits.items()
        ],
    }

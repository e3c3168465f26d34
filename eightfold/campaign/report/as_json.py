"""A campaign as one JSON object, whose fields `schema` declares."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from eightfold.campaign.coverage import Report
from eightfold.campaign.folder import Folder, repeat_command
from eightfold.campaign.records import GOOD
from eightfold.campaign.report.asked import asked_commands
from eightfold.campaign.report.facts import WORST_FIRST
from eightfold.campaign.report.schema import CaseJson, CoverageJson, UnitJson
from eightfold.campaign.report.verdict import Standing
from eightfold.campaign.store import Planned, Results
from eightfold.campaign.suite import suites

SCHEMA_VERSION = 1
"""Counts up when a field goes or changes its meaning, not when one comes."""


def write_json(
    file: IO[bytes],
    folder: Folder,
    results: Results,
    standing: Standing,
    facts: Mapping[str, Any],
) -> None:
    """Write a campaign to an open file, unit by unit: memory does not grow with its cases.

    ``facts``: of `Folder.facts`.
    """
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


def _unit(planned: Planned) -> UnitJson:
    unit = planned.unit
    return {
        "unit": planned.number,
        "suite": unit.suite,
        "operator": unit.operator,
        "backend": unit.backend,
        "config": unit.config,
        "netlist": unit.netlist,
        "first": unit.first,
        "count": unit.count,
        "state": planned.state,
        "seconds": planned.seconds,
        "ended": planned.ended,
        "worker": planned.worker,
    }


def _cases(results: Results, folder: Path) -> Iterator[CaseJson]:
    for planned in results.units():
        unit = planned.unit
        for case in results.cases(planned.number):
            name = unit.case_name(case.seed)
            good = case.verdict in GOOD
            yield {
                "name": name,
                "suite": unit.suite,
                "operator": case.operator,
                "seed": case.seed,
                "backend": unit.backend,
                "config": unit.config,
                "netlist": unit.netlist,
                "verdict": case.verdict,
                "message": case.message,
                "unit": planned.number,
                "repeat": None if good else repeat_command(folder, name, unit),
            }


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

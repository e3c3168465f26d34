"""The tables of docs/conformance-table.md, of what ``python -m lab.others`` has found."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eightfold.common.markers import markdown
from eightfold.conformance.profile import OPERATORS, Profile
from lab.documents.kit import COLUMNS
from lab.documents.part import number, table_part
from lab.others import read_results, units

PAGE = Path("docs/conformance-table.md")

BY = ("kit", "date")

NAMED = 4
"""Mistakes that a cell names; of more it says how many."""


def unit_table() -> str:
    """Return a row for each unit of hardware: whose, within which limits, and what was found."""
    titles = ("unit", "version", "limits", "cases", "verdict", "mistake", "its contract")
    rows = []
    for unit, found in _found(rtl=True):
        (finding,) = found["claims"].values()
        exact = grade(finding["counts"]) == "exact"
        contract = f"`{unit['contract']}`: {found['contract']}" if unit["contract"] else ""
        limits = Profile.from_dict({"name": "its", "limits": unit["profile"]}).limits_text
        whose = f"{unit['repository']} @ `{unit['commit'][:12]}`"
        rows.append(
            (
                unit["name"],
                whose if unit["commit"] else found["version"],
                limits or "none",
                f"{number(sum(finding['counts'].values()))}, {found['level']}",
                found["standing"] if exact else not_exact(finding),
                _mistakes(finding),
                contract,
                *_judged_by(found),
            )
        )
    return markdown((*titles, *BY), rows)


def runtime_table() -> str:
    """Return a row for each runtime: how many rows of the spec are of which grade."""
    rows = []
    for unit, found in _found(rtl=False):
        of = [grade(each["counts"]) for k, each in found["claims"].items() if k in OPERATORS]
        counts = [f"{of.count(each)} of {len(of)}" for each in ("exact", "within 1", "deviates")]
        facts = (unit["name"], found["version"], unit["profile"], found["level"])
        rows.append((*facts, *counts, *_judged_by(found)))
    titles = ("runtime", "version", "profile", "level", "exact", "within 1", "deviates", *BY)
    return markdown(titles, rows)


def deviation_table() -> str:
    """Return a row for each claim that is not exact, of runtimes that `COLUMNS` has not."""
    rows = [
        (unit["name"], claim, not_exact(each), _mistakes(each))
        for unit, found in _found(rtl=False)
        if unit["adapter"] not in {each.adapter for each in COLUMNS}
        for claim, each in found["claims"].items()
        if grade(each["counts"]) != "exact"
    ]
    return markdown(("runtime", "claim", "not exact", "mistake"), rows)


def smallest_cases() -> str:
    """Return the smallest failing cases that the recipe asks for, line by line."""
    return "".join(
        f"{unit['name']}, {claim}:\n\n```text\n{chr(10).join(lines)}\n```\n\n"
        for unit, found in _found(rtl=False)
        for claim in unit["show"]
        if (lines := found["claims"].get(claim, {}).get("smallest"))
    )


def missing() -> str:
    """Return which units of the recipe have no result yet, in a sentence."""
    names = [unit["name"] for unit in units() if unit["name"] not in read_results()]
    return f"Not judged yet: {'; '.join(names)}.\n" if names else "All of the recipe are judged.\n"


def grade(counts: Mapping[str, int]) -> str:
    """Return ``exact``, ``within 1`` or ``deviates``, by how the cases ended."""
    others = counts.keys() - {"exact"}
    if not others:
        return "exact"
    return "within 1" if others == {"off_by_one"} else "deviates"


def not_exact(finding: Mapping[str, Any]) -> str:
    """Return how the cases that are not exact ended, and of how many."""
    counts = finding["counts"]
    wrong = (f"{number(n)} {k.replace('_', ' ')}" for k, n in counts.items() if k != "exact")
    return f"{', '.join(wrong)} of {number(sum(counts.values()))}"


def _found(*, rtl: bool) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    results = read_results()
    own = (unit for unit in units() if bool(unit["rtl"]) == rtl)
    return ((unit, results[unit["name"]]) for unit in own if unit["name"] in results)


def _judged_by(found: Mapping[str, Any]) -> tuple[str, str]:
    """Return the kit's version, its commit, and when it judged."""
    return f"{found['kit']} @ `{found['commit'][:12]}`", found["date"]


def _mistakes(finding: Mapping[str, Any]) -> str:
    names = [f"`{each}`" for each in finding["mistakes"]]
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return " or ".join(names[:NAMED] + more)


PARTS = tuple(
    table_part(marker, PAGE, table)
    for marker, table in (
        ("units", unit_table),
        ("runtimes", runtime_table),
        ("deviations", deviation_table),
        ("smallest", smallest_cases),
        ("missing", missing),
    )
)

"""Parameters of tests that ``make test-long`` runs whole, and ``make test`` in part."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pytest

from eightfold.sim.simulator.toolchain import icarus_available


def mark_long(items: Iterable[pytest.Item]) -> None:
    """Mark the cases long that the mark ``usual`` of their test leaves to ``make test-long``.

    ``usual("a", "b")`` keeps one case of those with equal arguments a and b, the others' values by
    turns; ``count=3`` keeps three of each, and without arguments of all; ``names=["x"]`` keeps
    those with x in the name.
    """
    tests = defaultdict(list)
    for item in items:
        if item.get_closest_marker("usual") and not item.get_closest_marker("long"):
            tests[item.nodeid.partition("[")[0]].append(item)
    for cases in tests.values():
        mark = next(cases[0].iter_markers("usual"))
        kept = usual(cases, *mark.args, **mark.kwargs)
        for item in cases:
            if item not in kept:
                item.add_marker(pytest.mark.long)


def usual(
    cases: list[Any], *arguments: str, count: int = 1, names: Iterable[str] = ()
) -> list[Any]:
    """Return the cases of a test that its mark ``usual`` keeps."""
    if names:
        if not icarus_available():
            names = [name.replace("icarus", "verilator") for name in names]
        return [case for case in cases if any(name in case.name for name in names)] or cases
    groups = defaultdict(list)
    for case in cases:
        groups[tuple(str(case.callspec.params[name]) for name in arguments)].append(case)
    return [
        group[(turn + each * len(group) // count) % len(group)]
        for turn, group in enumerate(groups.values())
        for each in range(min(count, len(group)))
    ]

"""Parameters of tests that ``make test-long`` runs whole, and ``make test`` in part."""

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(every: int, cases: Iterable[Any]) -> list[Any]:
    """Return parameters that are marked long but for the first of each ``every``.

    ``cases`` are values, tuples of values for several arguments, or ``pytest.param``.
    """
    found = []
    for number, case in enumerate(cases):
        if not hasattr(case, "marks"):
            case = pytest.param(*(case if isinstance(case, tuple) else (case,)))
        marks = [*case.marks, *([pytest.mark.long] if number % every else [])]
        found.append(pytest.param(*case.values, id=case.id, marks=marks))
    return found

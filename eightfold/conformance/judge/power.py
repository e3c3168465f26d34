"""The power of cases: which mistakes they tell apart, and which they cannot."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.judge.forms import Cases
from eightfold.conformance.judge.variants import every_result, form_of


@dataclass(frozen=True)
class Power:
    """What cases could not have told apart. All names are of `variants.MISTAKES`."""

    mistakes: int
    """How many were computed."""
    unseen: tuple[str, ...]
    """Those that give the reference's results: a unit that makes one of them conforms."""
    groups: tuple[tuple[str, ...], ...]
    """Those that are seen, but give the same results as each other."""

    def sentences(self) -> list[str]:
        """Return what a report says, a sentence for each group."""
        if not self.unseen and not self.groups:
            return [f"These cases tell all {self.mistakes} mistakes from the reference, and apart."]
        found = []
        if self.unseen:
            found.append(
                f"{len(self.unseen)} of {self.mistakes} mistakes cannot be seen in these cases, "
                f"they give the reference's results: {', '.join(self.unseen)}."
            )
        found += [f"These coincide in all cases: {', '.join(group)}." for group in self.groups]
        return found


def power(form: str, cases: Cases, results: Mapping[str, NDArray[np.int8]] | None = None) -> Power:
    """Return which mistakes of ``form`` the cases could not have told apart.

    ``results`` are those of `every_result`, where they are known already.

    Raises
    ------
    ValueError
        If there is no such form.
    """
    kind = form_of(form)
    if results is None:
        results = every_result(kind, cases)
    reference = kind.results(cases).astype(np.int8).tobytes()
    groups: dict[bytes, list[str]] = {reference: []}
    for name, codes in results.items():
        groups.setdefault(codes.tobytes(), []).append(name)
    unseen = tuple(groups.pop(reference))
    coinciding = tuple(tuple(names) for names in groups.values() if len(names) > 1)
    return Power(len(results), unseen, coinciding)

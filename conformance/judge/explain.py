"""The judge's engine: which mistakes give somebody's results, of units and of operators alike.

All mistakes that explain every known result, else all pairs of them, else the closest one. What a
case is, and how the results of a mistake are computed, `Observations` says.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.judge.rules import Mask

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class NamedMistake:
    """A mistake with a name, and a sentence as the engineer would say it who has found it."""

    name: str
    sentence: str


M = TypeVar("M", bound=NamedMistake)


@dataclass(frozen=True, kw_only=True)
class Observations(Generic[M]):
    """Somebody's results, and what may have given them."""

    mistakes: Sequence[M]
    """In the order in which they are named."""
    gives: Callable[[tuple[M, ...], Indices], Mask]
    """Returns for each of some cases whether mistakes, made at once, give somebody's results."""
    known: Indices
    """Cases whose results are all there and known."""
    wrong: Mask
    """Of every case, whether it is known and not exact, shape (n,); some are."""
    probed: Indices
    """Cases that are asked before all others whether a mistake explains them."""
    compared: Indices
    """Cases by which the closest mistake is chosen."""
    at_once: int = 1
    pairs: Callable[[], Iterable[tuple[M, M]]] = lambda: ()
    """Pairs of mistakes that can be made at once."""

    def given(self, mistakes: tuple[M, ...]) -> Iterator[Mask]:
        """Yield, part by part of the known cases, which of them the mistakes give."""
        for start in range(0, len(self.known), self.at_once):
            yield self.gives(mistakes, self.known[start : start + self.at_once])


@dataclass(frozen=True)
class Explanation(Generic[M]):
    """Mistakes, one or two at once, and how many of the known results they give."""

    mistakes: tuple[M, ...]
    explained: int

    @property
    def name(self) -> str:
        return " and ".join(mistake.name for mistake in self.mistakes)

    @property
    def sentence(self) -> str:
        return " ".join(mistake.sentence for mistake in self.mistakes)


@dataclass(frozen=True)
class Explained(Generic[M]):
    full: tuple[Explanation[M], ...]
    """Mistakes, else pairs of them, that give every known result."""
    closest: Explanation[M] | None
    """If there are none, the mistake that gives most of the results, if more than the reference."""
    remainder: Mask
    """Of every case, whether it is known and neither the reference (``closest``, where there is
    one) nor a mistake of ``full`` gives it, shape (n,)."""


def explain(evidence: Observations[M]) -> Explained[M]:
    full = tuple(_full(evidence, ((mistake,) for mistake in evidence.mistakes)))
    full = full or tuple(_full(evidence, evidence.pairs()))
    if full:
        return Explained(full, None, np.zeros_like(evidence.wrong))
    return _closest(evidence)


def _full(
    evidence: Observations[M], candidates: Iterable[tuple[M, ...]]
) -> Iterator[Explanation[M]]:
    for mistakes in candidates:
        if evidence.gives(mistakes, evidence.probed).all() and all(
            given.all() for given in evidence.given(mistakes)
        ):
            yield Explanation(mistakes, len(evidence.known))


def _closest(evidence: Observations[M]) -> Explained[M]:
    """Return the mistake that gives most, the first of several; none if the reference does."""
    wrong = evidence.wrong
    best = None
    most = (0, 0)
    for mistake in evidence.mistakes:
        given = evidence.gives((mistake,), evidence.compared)
        score = int(given.sum()), int((given & wrong[evidence.compared]).sum())
        if score > most:
            best, most = mistake, score
    if best is not None and most[1]:
        given = np.concatenate([*evidence.given((best,))])
        if given.sum() > len(evidence.known) - wrong.sum():
            remainder = np.zeros_like(wrong)
            remainder[evidence.known[~given]] = True
            return Explained((), Explanation((best,), int(given.sum())), remainder)
    return Explained((), None, wrong)


def explained_sentences(
    full: Sequence[Explanation[M]], closest: Explanation[M] | None, known: int, *, pairs: bool
) -> list[str]:
    """Return in sentences what explains ``known`` results; ``pairs``: two at once were tried."""
    if full:
        first, *others = full
        both = "Two mistakes at once explain" if len(first.mistakes) > 1 else "It explains"
        found = [f"{first.name}: {first.sentence} {both} all {known} known results."]
        if others:
            names = ("; " if pairs else ", ").join(other.name for other in others)
            found.append(f"These explain them as well, in these cases: {names}.")
        return found
    tried = "all results" if closest or pairs else "the results"
    tried += ", nor do two of them" * pairs
    none = f"No mistake with a name explains {tried}."
    if closest is None:
        return [none]
    share = f"with {closest.explained} of {known}"
    return [f"{none} The closest is {closest.name}, {share}: {closest.sentence}"]

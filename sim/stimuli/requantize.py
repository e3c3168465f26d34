"""Cases of the hardware's requantizer: those of every rounding, with biases and both shifts."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.units import requantize
from eightfold.conformance.units.requantize import Domain, concatenate, take
from eightfold.golden.requantize import requantize as golden_requantize
from eightfold.golden.rounding import ROUNDINGS, rounding_code

Cases = dict[str, NDArray[np.int64]]
"""``acc`` and the fields of `eightfold.isa.REQUANTIZE_LAYOUT`: integers of shape (n,)."""

LIMIT = 1 << 31

DOMAINS = tuple(
    Domain(single=single, rounding=rounding, exponents=(-30, 62 if single else 31))
    for single in (False, True)
    for rounding in ROUNDINGS
)
"""What the hardware takes: the spec's forms and others."""


def corner_cases(rng: np.random.Generator) -> Cases:
    """Return every (mode, rounding, right) and every (mode, rounding, left) at corner values.

    Operands, multipliers and both ends of the zero point are crossed with them; a random multiplier
    joins the corner ones. Every left shift is there with a right shift too.
    """
    cases = _of_all(rng, requantize.corner_cases)
    both = take(cases, cases["left"] > 0)
    right = rng.integers(0, np.where(both["single"], 63, 32))
    return concatenate([cases, both | {"right": right}])


def tie_cases(rng: np.random.Generator, count: int) -> Cases:
    """Return ties of both roundings and their neighbours, ``count`` of each for every shift."""
    first = _of_all(rng, lambda rng, domain: requantize.first_tie_cases(rng, domain, count))
    second = _of_all(rng, lambda rng, domain: requantize.second_tie_cases(rng, domain, count))
    return concatenate([first, second])


def edge_cases(rng: np.random.Generator, count: int) -> Cases:
    """Return results at the limits and beside them, ``count`` for every shift."""
    return _of_all(rng, lambda rng, domain: requantize.edge_cases(rng, domain, count))


def power_cases(rng: np.random.Generator) -> Cases:
    """Return products of plus or minus every power of two, with every right shift."""
    return _of_all(rng, requantize.power_cases)


def wrap_cases(rng: np.random.Generator) -> Cases:
    """Return products so near the ends that a pair's zero point wraps int32, and neighbours."""
    return _of_all(rng, requantize.wrap_cases)


def random_cases(rng: np.random.Generator, count: int) -> Cases:
    """Return random cases in random order, about a third with a left shift."""
    share = -(-count // len(DOMAINS))
    cases = _of_all(rng, lambda rng, domain: requantize.random_cases(rng, domain, share))
    cases = take(cases, rng.permutation(share * len(DOMAINS))[:count])
    shifted = rng.random(count) < 0.3
    return cases | {"left": np.where(shifted, rng.integers(0, 31, count), cases["left"])}


def expected_results(cases: Cases) -> NDArray[np.int8]:
    """Return golden's results."""
    return golden_requantize(**cases)  # pyright: ignore[reportArgumentType]


def _of_all(
    rng: np.random.Generator, make: Callable[[np.random.Generator, Domain], requantize.Cases]
) -> Cases:
    """Return the cases of every domain, as the hardware has them."""
    return concatenate([_as_hardware(rng, domain, make(rng, domain)) for domain in DOMAINS])


def _as_hardware(rng: np.random.Generator, domain: Domain, cases: requantize.Cases) -> Cases:
    """Add mode and bias: the accumulator is what makes the biased sum the one that was drawn."""
    cases = take(cases, domain.within(cases))
    count = len(cases["acc"])
    bias = np.choose(
        rng.integers(0, 4, count),
        [
            np.zeros(count, np.int64),
            rng.choice([-LIMIT, LIMIT - 1], count),
            rng.integers(-LIMIT, LIMIT, count),
            rng.integers(-1000, 1000, count),
        ],
    )
    acc = (cases["acc"] - bias + LIMIT) % (2 * LIMIT) - LIMIT
    modes = {
        "single": np.full(count, int(domain.single)),
        "rounding": np.full(count, int(rounding_code(domain.rounding))),
    }
    arguments = domain.arguments(cases) | modes | {"acc": acc, "bias": bias}
    return {name: np.asarray(values) for name, values in arguments.items()}

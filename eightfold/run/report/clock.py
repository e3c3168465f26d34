"""Clocks: which were measured for which size of the accelerator, and what cycles take in time."""

import math
from dataclasses import dataclass

from eightfold.common.errors import InputError
from eightfold.target.config import PRESETS, AcceleratorConfig


@dataclass(frozen=True)
class Clock:
    """A clock in MHz, and where it comes from."""

    mhz: float
    source: str

    def milliseconds(self, cycles: int) -> float:
        """Return the time that cycles take."""
        return cycles / self.mhz / 1000

    def per_second(self, cycles: int) -> float:
        """Return how many inferences of so many cycles come one after the other in a second."""
        return 1e6 * self.mhz / cycles


GIVEN = "given with --clock"
"""The source of a clock that is nobody's measurement."""

MEASURED = {
    "pico": Clock(114, "slowest of 3 routings on an ECP5 LFE5U-85F, docs/synthesis.md"),
    "nano": Clock(108, "slowest of 3 routings on an ECP5 LFE5U-85F, docs/synthesis.md"),
    "small": Clock(103, "slowest of 3 routings on an ECP5 LFE5U-85F, docs/synthesis.md"),
    "base": Clock(91, "slowest of 3 routings on an ECP5 LFE5U-85F, docs/synthesis.md"),
}
"""By preset, rounded down; `large` has not been routed. The commands that measure
them again stand beside them in docs/synthesis.md."""


def clock_of(config: AcceleratorConfig, mhz: float | None = None) -> Clock | None:
    """Return the clock for figures of time: ``mhz`` if given, else the one that was measured.

    None if neither is there. Raises `InputError` if ``mhz`` is not a number above 0.
    """
    if mhz is not None:
        if not 0 < mhz < math.inf:
            raise InputError(f"clock must be a number of MHz above 0, not {mhz}")
        return Clock(mhz, GIVEN)
    return next((clock for name, clock in MEASURED.items() if PRESETS[name] == config), None)


def times_json(cycles: int | None, clock: Clock | None) -> dict[str, float | str | None]:
    """Return the fields of a report about time; None for what is not known."""
    return {
        "clock_mhz": clock.mhz if clock else None,
        "clock_source": clock.source if clock else None,
        "milliseconds": clock.milliseconds(cycles) if clock and cycles else None,
        "inferences_per_second": clock.per_second(cycles) if clock and cycles else None,
    }


def time_of(cycles: int, clock: Clock | None, config: str) -> str:
    """Return what cycles take as a sentence, or why that is not known."""
    if clock is None:
        return f"{config} has no measured clock; --clock MHZ gives times."
    return (
        f"{cycles:,} cycles take {clock.milliseconds(cycles):.4g} ms at {clock.mhz:g} MHz "
        f"({clock.source}): {clock.per_second(cycles):,.0f} inferences per second."
    )

"""How long a simulation may take, whoever starts it, and where its bench finds its job.

A test of a bench may take so many clock cycles: the same on every machine. The simulator's process
may take so much CPU time: the last resort, where simulated time stands still or the bench starts no
clock. Neither looks at a clock on the wall, so a machine that is busy ends nothing.
"""

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace

from eightfold.common.errors import InputError


@dataclass(frozen=True)
class Limits:
    """What a simulation may take.

    ``cycles``: clock cycles of each test of a bench. ``seconds``: CPU time of the simulator's
    process, in whole seconds.
    """

    cycles: int = 50_000_000
    seconds: int = 7200


VARIABLES = {"cycles": "EIGHTFOLD_LIMIT_CYCLES", "seconds": "EIGHTFOLD_LIMIT_SECONDS"}
"""Environment variables that set other limits."""


def limits(seconds: int | None = None) -> Limits:
    """Return the limits, those of `VARIABLES` where they are set; CPU time at most ``seconds``.

    Raises InputError if one is set to something else than a whole number of at least 1.
    """
    chosen = {}
    for name, variable in VARIABLES.items():
        if text := os.environ.get(variable):
            if not (text.isascii() and text.isdigit() and int(text)):
                raise InputError(f"{variable}={text}: set it to a whole number of {name} from 1 on")
            chosen[name] = int(text)
    found = Limits(**chosen)
    return found if seconds is None else replace(found, seconds=min(found.seconds, seconds))


def limited(command: Sequence[str], seconds: int) -> list[str]:
    """Return a command that ends by itself after so much CPU time, see `ran_out`."""
    # A lower limit that is there already stays; a core file of an endless loop helps nobody.
    script = 'ulimit -S -c 0; ulimit -S -t "$0" 2>/dev/null; exec "$@"'
    return ["sh", "-c", script, str(seconds), *command]


def ran_out(status: int | None) -> bool:
    """Return whether a process with this status, as of `subprocess`, ended at its CPU time."""
    return status == -signal.SIGXCPU


ENVIRONMENT = "EIGHTFOLD_BENCH"
"""The environment variable that names the job file; `eightfold.sim.simulator.runner` writes both.
"""
